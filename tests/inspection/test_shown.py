"""What people and programs see: text, a notebook's HTML, rich's tables, JSON, pandas."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.files.handmade import column, encrypted, gcm, kek_id, material, readable
from tests.support.shown import forms

if TYPE_CHECKING:
    from pathlib import Path

# Clears a screen, sets a window's title, changes the writing direction, breaks a line and HTML, and is rich's markup.
HOSTILE = "k\x1b[2J\x1b]0;t\x07\u202e\n<script>alert(1)</script>[red]&[/red]"
WRAPPED_TWICE = (
    f"data key 128 bits, wrapped by key-encryption key {kek_id()} (256 bits), which the master key wraps, in the file"
)
DANGEROUS = ("\x1b", "\x07", "\u202e", "\n<", "<script>")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give tables all the width that they want."""
    monkeypatch.setenv("COLUMNS", "500")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Return a directory of files with text that must reach no screen, in every place that can hold text."""
    told = material(HOSTILE, kmsInstanceID=HOSTILE, kmsInstanceURL=HOSTILE)
    (tmp_path / "a").write_bytes(encrypted(told, algorithm=gcm(prefix=HOSTILE.encode())))
    (tmp_path / "b").write_bytes(readable([column(HOSTILE.encode(), key=told)], signed=True))
    (tmp_path / "c").write_bytes(readable([column(HOSTILE.encode(), key=b"{")], signed=True))
    (tmp_path / "d\x1b[2J<script>").write_bytes(b"no Parquet")
    return tmp_path


def test_text_from_a_file_cannot_control_a_terminal_or_a_notebook(hostile: Path) -> None:
    for path in (hostile, *sorted(hostile.iterdir())):
        report = pme.inspect(path)
        for form, shown in forms(report).items():
            for piece in DANGEROUS[: None if form == "html" else -1]:
                assert piece not in shown, (path.name, form, piece)
        for sentence in (*report.drift, *(finding.message for finding in report.findings)):
            assert sentence.isprintable()


def test_text_from_a_file_is_escaped_and_not_left_out(hostile: Path) -> None:
    shown = forms(pme.inspect(hostile / "b"))
    assert r"k\x1b[2J\x1b]0;t\x07\u202e\n<script>alert(1)</script>[red]&[/red]" in shown["text"]
    assert "[red]&[/red]" in shown["rich"].replace("\n", "")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;[red]&amp;[/red]" in shown["html"]
    [file] = pme.inspect(hostile / "b").files
    assert [key.master_key for key in file.column_keys] == [HOSTILE]
    assert json.dumps(pme.inspect(hostile / "b").to_dict()).isprintable()
    assert pme.inspect(hostile / "a").files[0].aad_prefix_value == f"0x{HOSTILE.encode().hex()}"


def test_long_texts_are_cut_where_they_are_shown(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(encrypted(material("k" * 5000)))
    report = pme.inspect(tmp_path)
    assert "(5034 characters)" not in str(report)
    assert f"{'k' * 300}" in str(report)
    assert len(str(report)) < 1500
    assert report.files[0].footer_key
    assert report.files[0].footer_key.master_key == "k" * 5000


def test_one_file_as_text(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    columns = [
        column(b"id", footer_key=True, size=2048),
        column(b"ssn", key=material("pii")),
        column(b"x", b"y", size=0),
    ]
    file.write_bytes(readable(columns, signed=True, rows=1200, groups=2))
    assert str(pme.inspect(file)).splitlines() == [
        f"{file}: 1 file, 989 B",
        "",
        "  footer      plaintext, signed",
        "  algorithm   AES_GCM_V1",
        "  AAD prefix  none",
        "  footer key  key 'footer': named by the file as the data key itself",
        f"  column key  key 'pii': {WRAPPED_TWICE}",
        "  columns     3",
        "  rows        1,200 in 2 row groups",
        "  written by  by hand",
        "",
        "  column  size     encrypted with",
        "  id      4.0 KiB  footer key: key 'footer'",
        "  ssn     20 B     column key: key 'pii'",
        "  x.y     0 B      not encrypted",
    ]


def test_a_table_as_text(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(encrypted(b"footer", algorithm=gcm(prefix=b"t")))
    (tmp_path / "c").write_bytes(readable([column(b"x")]))
    (tmp_path / "d").write_bytes(b"")
    keys = "footer: key 'footer'; columns: not visible; AAD prefix in the file"
    assert str(pme.inspect(tmp_path)).splitlines() == [
        f"{tmp_path}: 4 files, 202 B, 2 encrypted",
        "",
        f"  files  size   footer     algorithm   {'keys':{len(keys)}}  first file",
        f"  2      164 B  encrypted  AES_GCM_V1  {keys}  a",
        f"  1      38 B   plaintext              {'':{len(keys)}}  c",
        f"  1      0 B    not known              {'':{len(keys)}}  d",
        "",
        "1 of 4 files is damaged or could not be read",
        "1 of 4 files is plaintext",
        "[PME_PLAINTEXT_FILE] c: the file is not encrypted, but 2 of the table are. Find out who wrote it.",
        "[PME_DAMAGED_FILE] d: the Parquet file is damaged: it is 0 bytes long. Restore it from its source.",
    ]


def test_long_lists_are_cut_and_counted(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}").write_bytes(encrypted(f"key{number}".encode()))
    for number in range(25):
        (tmp_path / f"bad{number:02}").write_bytes(b"")
    report = pme.inspect(tmp_path)
    assert report.drift[-1] == "and 10 more differences"
    lines = str(report).splitlines()
    assert lines[-1].startswith("[PME_DAMAGED_FILE] in 25 files, as in bad00: the Parquet file is damaged:")
    assert len(report.to_dict()["findings"]) == 25
    assert len(lines) < 70
    columns = [column(f"c{number}".encode(), key=f"key{number}".encode()) for number in range(30)]
    (tmp_path / "wide").write_bytes(readable(columns, signed=True))
    shown = str(pme.inspect(tmp_path / "wide"))
    assert "and 10 more column keys" in shown
    assert shown.count("\n  column key  key") == 20


def test_the_dict_has_every_field_and_is_json(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(encrypted(material("footer")))
    told = pme.inspect(tmp_path).to_dict()
    assert json.loads(json.dumps(told)) == json.loads(json.dumps(told))
    assert sorted(told) == ["drift", "files", "findings", "groups", "path", "storage", "tables"]
    [file] = told["files"]
    assert file.pop("footer_key") == {
        "management": "envelope",
        "material": "internal",
        "reference": None,
        "master_key": "footer",
        "master_key_version": None,
        "double_wrapping": True,
        "kek_id": kek_id(),
        "data_key_bits": 128,
        "kek_bits": 256,
        "kms_instance_id": "DEFAULT",
        "kms_instance_url": "DEFAULT",
    }
    assert file == {
        "file": "a",
        "bytes": (tmp_path / "a").stat().st_size,
        "footer": "encrypted",
        "algorithm": "AES_GCM_V1",
        "aad_prefix": "none",
        "aad_prefix_value": None,
        "columns": None,
        "column_keys": (),
        "rows": None,
        "row_groups": None,
        "created_by": None,
        "orc": None,
        "findings": (),
        "live": None,
    }
    bare = {"table": "", "versions": 0, "newest": None, "findings": (), "format": "", "metadata_files": 0}
    of_delta = {"version": None, "live_by": "", "live": None, "not_live": None, "live_elsewhere": 0, "live_problem": ""}
    assert told["tables"] == [bare | of_delta]
    assert told["groups"] == [{"files": 1, "bytes": file["bytes"], "example": "a"}]


def test_pandas_has_a_row_for_each_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(encrypted(b"footer"))
    (tmp_path / "b").write_bytes(readable([column(b"x")]))
    frame = pme.inspect(tmp_path).to_pandas()
    assert list(frame["file"]) == ["a", "b"]
    assert list(frame["footer_key.master_key"]) == ["footer", None]


def test_without_pandas_an_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(encrypted(b"footer"))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(pme.UnsupportedError, match=r"needs pandas, which is not installed\. pip install pandas"):
        pme.inspect(tmp_path).to_pandas()
