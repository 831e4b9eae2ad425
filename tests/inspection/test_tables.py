"""Tables of several files: which files count, how they differ, and what is wrong with them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.files import handmade
from tests.support.files.handmade import encrypted, material

if TYPE_CHECKING:
    from pathlib import Path


def put(root: Path, name: str, content: bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def names(report: pme.Inspection) -> list[str]:
    return [file.file for file in report.files]


def test_files_that_spark_passes_over_are_left_out_and_partitions_are_not(tmp_path: Path) -> None:
    shown = ["_day=3/a", "a.parquet", "b", "day=1/a.parquet", "day=1/hour=2/a.parquet"]
    hidden = ["_SUCCESS", ".a.crc", "_temporary/0/a.parquet", ".b/a.parquet", "day=1/_x", "a._COPYING_", "_metadata"]
    for name in shown + hidden:
        put(tmp_path, name, encrypted(b"k"))
    report = pme.inspect(tmp_path)
    assert sorted(names(report)) == shown
    assert report.findings == ()


def test_a_hidden_file_that_is_asked_for_is_shown(tmp_path: Path) -> None:
    put(tmp_path, "_old/a", encrypted(b"k"))
    assert names(pme.inspect(tmp_path / "_old")) == ["a"]
    assert names(pme.inspect(tmp_path / "_old" / "a")) == ["a"]


def test_drift_is_described_in_sentences_and_groups(tmp_path: Path) -> None:
    for number in range(300):
        key = "pii-2024" if number % 25 == 0 else "pii"
        put(tmp_path, f"part-{number:03}", encrypted(material(key, keyEncryptionKeyID=handmade.kek_id(number))))
    for number in range(3):
        put(tmp_path, f"late-{number}", handmade.readable([handmade.column(b"a")]))
    report = pme.inspect(tmp_path)
    assert report.drift == (
        "3 of 303 files are plaintext",
        "12 of 303 files use key 'pii-2024' for the footer",
    )
    assert [(group.files, group.example.file) for group in report.groups] == [
        (288, "part-001"),
        (12, "part-000"),
        (3, "late-0"),
    ]
    assert sum(group.bytes for group in report.groups) == sum(file.bytes for file in report.files)
    assert {finding.condition for finding in report.findings} == {"PME_PLAINTEXT_FILE"}
    assert [finding.file for finding in report.findings] == ["late-0", "late-1", "late-2"]
    assert report.findings[0].message == (
        "[PME_PLAINTEXT_FILE] late-0: the file is not encrypted, but 300 of the table are. Find out who wrote it."
    )


def test_drift_of_columns_algorithms_prefixes_and_lengths(tmp_path: Path) -> None:
    own = {"signed": True}
    put(tmp_path, "a", handmade.readable([handmade.column(b"x", key=material("pii"))], **own))
    put(tmp_path, "b", handmade.readable([handmade.column(b"x", key=material("pii"))], **own))
    put(
        tmp_path,
        "c",
        handmade.readable([handmade.column(b"x", key=material("pay", wrappedDEK=handmade.WRAPPED[32]))], **own),
    )
    put(tmp_path, "d", encrypted(b"footer", algorithm=handmade.gcm(prefix=b"t")))
    assert pme.inspect(tmp_path).drift == (
        "1 of 4 files has an AAD prefix in the file",
        "1 of 4 files has an encrypted footer",
        "1 of 4 files has data keys of 256 bits",
        "1 of 4 files uses key 'pay'",
        "2 of 4 files have data keys of 128 bits",
        "2 of 4 files use key 'pii'",
    )


def test_a_column_that_some_files_leave_readable_is_reported(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        second = handmade.column(b"y") if name == "b" else handmade.column(b"y", key=material("pii"))
        columns = [handmade.column(b"x", key=material("pii")), second, handmade.column(b"z")]
        put(tmp_path, name, handmade.readable(columns, signed=True))
    assert pme.inspect(tmp_path).drift == ("1 of 3 files leaves column 'y' readable",)


def test_letter_case_hides_no_column_that_some_files_leave_readable(tmp_path: Path) -> None:
    for name in ("a", "b"):
        put(
            tmp_path,
            name,
            handmade.readable([handmade.column(b"salary", key=material("pii")), handmade.column(b"z")], signed=True),
        )
    protected = handmade.column(b"z", key=material("pii"))
    put(tmp_path, "c", handmade.readable([handmade.column(b"SALARY"), protected], signed=True))
    assert "1 of 3 files leaves column 'salary' readable" in pme.inspect(tmp_path).drift


def test_drift_of_wrapping_and_of_where_key_material_is(tmp_path: Path) -> None:
    once = json.loads(material("pii", doubleWrapping=False))
    del once["keyEncryptionKeyID"], once["wrappedKEK"]
    put(tmp_path, "a", encrypted(material("pii")))
    put(tmp_path, "b", encrypted(json.dumps(once).encode()))
    assert pme.inspect(tmp_path).drift == (
        "1 of 2 files wraps data keys once",
        "1 of 2 files wraps data keys twice",
    )


def test_similar_files_have_no_drift_and_a_plaintext_table_has_no_finding(tmp_path: Path) -> None:
    for name in "ab":
        put(tmp_path, name, handmade.readable([handmade.column(b"x")]))
    report = pme.inspect(tmp_path)
    assert (report.drift, report.findings) == ((), ())
    assert [group.files for group in report.groups] == [2]


def test_keys_next_to_a_file_in_a_partition(tmp_path: Path) -> None:
    file = put(tmp_path, "day=1/a.parquet", encrypted(handmade.reference("footerKey")))
    handmade.beside(file, footerKey=material("footer").decode(), columnKey0=material("pii").decode())
    report = pme.inspect(tmp_path)
    [found] = report.files
    assert report.findings == ()
    assert found.footer_key
    assert (found.footer_key.master_key, found.footer_key.reference) == ("footer", "footerKey")
    assert [key.master_key for key in found.column_keys] == ["pii"]


def test_an_empty_directory_has_no_files(tmp_path: Path) -> None:
    report = pme.inspect(tmp_path)
    assert (report.files, report.groups, report.drift, report.findings) == ((), (), (), ())
    assert str(report) == f"{tmp_path}: 0 files, 0 B, 0 encrypted"


def test_nothing_at_the_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(pme.BadOptionError, match="there is nothing"):
        pme.inspect(tmp_path / "nowhere")


def test_links_are_listed_and_not_followed(tmp_path: Path) -> None:
    put(tmp_path, "elsewhere/a.parquet", encrypted(b"k"))
    table = tmp_path / "table"
    table.mkdir()
    (table / "linked").symlink_to(tmp_path / "elsewhere")
    (table / "circle").symlink_to(table)
    (table / "gone").symlink_to(tmp_path / "nowhere")
    (table / "file.parquet").symlink_to(tmp_path / "elsewhere" / "a.parquet")
    report = pme.inspect(table)
    assert names(report) == ["circle", "file.parquet", "gone", "linked"]
    assert [finding.file for finding in report.findings] == names(report)
    assert all("symbolic link, which was not followed" in finding.message for finding in report.findings)
    assert "k" not in {key.master_key for file in report.files for key in file.column_keys}

    # The path itself may be one.
    (tmp_path / "name").symlink_to(tmp_path / "elsewhere")
    assert names(pme.inspect(tmp_path / "name")) == ["a.parquet"]


def test_many_files_show_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pme_parquet._inspect._MANY", 3)
    monkeypatch.setattr("pme_parquet._inspect._BETWEEN", 1)
    for number in range(3):
        put(tmp_path, f"{number}.parquet", encrypted(b"k"))
    pme.inspect(tmp_path)
    assert capsys.readouterr().err == ""
    pme.inspect(tmp_path, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("inspecting: 1 of 3 files")
    assert lines[-1] == "inspecting: 3 of 3 files"


def test_something_that_is_not_a_file_is_a_finding_and_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    [finding] = pme.inspect(tmp_path).findings
    assert "it is not a regular file" in finding.message


def test_a_file_without_read_permission_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a", encrypted(b"k"))
    put(tmp_path, "b", encrypted(b"k"))
    monkeypatch.setattr("pme_parquet._storage._Local.read", _refuses_a)
    report = pme.inspect(tmp_path)
    assert [(finding.file, finding.condition) for finding in report.findings] == [("a", "")]
    assert "PermissionError: not for you" in report.findings[0].message
    assert report.files[1].footer == "encrypted"


def _refuses_a(_: object, path: str, start: int, end: int) -> bytes:
    if path.endswith("/a"):
        raise PermissionError("not for you")
    with open(path, "rb") as file:  # noqa: PTH123 paths are texts there
        file.seek(start)
        return file.read(end - start)
