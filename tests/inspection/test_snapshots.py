"""What `pme.inspect` shows of snapshots, and that it never says that a seal was checked."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from rich.console import Console

import pme_parquet as pme
from pme_parquet import _storage
from pme_parquet._snapshots.listing import below
from tests.support.commands import run
from tests.support.files.handmade import HMAC, INDEX, chain, content, digest, encrypted, index, indexed, manifest, put

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "k\x1b[2J\u202e\n<script>"
FILE = encrypted(b"footer")
NOT_CHECKED = (
    "No seal was checked: anyone who can write to the storage can forge what is listed. pme.verify checks it with keys."
)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def table(path: Path, *files: str) -> Path:
    """Make the files of a table, and return the directory of its snapshots."""
    for file in files:
        (path / file).parent.mkdir(parents=True, exist_ok=True)
        (path / file).write_bytes(FILE)
    return path / "_pme_snapshots"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Return a table of two files, with two versions that list them."""
    chain(table(tmp_path / "people", "day=1/a.parquet", "day=2/b.parquet"), 2, bytes=2 * len(FILE))
    return tmp_path / "people"


def of_snapshots(path: Path) -> list[str]:
    """Return what is shown after the list of files."""
    return str(pme.inspect(path)).split("\n\n", 2)[2].splitlines()


def test_a_table_with_its_newest_snapshot(people: Path) -> None:
    indexes = indexed(index("id", key="stats"), index("n", field="index_1", kind="bloom", key=None))
    bare = manifest(content(3, digest((people / "_pme_snapshots/snapshot-0000000002.json").read_bytes()), **indexes))
    put(people / "_pme_snapshots", 3, bare.replace(b"123456", b"%d" % (2 * len(FILE))))
    assert of_snapshots(people) == [
        "  snapshot  version 3",
        "  created   2026-11-24 01:02 UTC by ada",
        "  lists     2 files, 1,000 rows, 158 B",
        "  seal      Ed25519, key 'signer'; not checked",
        "  indexes   minMax of id: key 'stats'; bloom of n: not encrypted",
        "",
        NOT_CHECKED,
    ]
    [found] = pme.inspect(people).tables
    assert (found.table, found.versions, found.findings, found.has_snapshots) == ("", 3, (), True)
    assert found.newest == pme.snapshots(people)[-1]
    document = json.loads(json.dumps(pme.inspect(people).to_dict()))
    assert document["findings"] == []
    assert [one["newest"]["indexes"][0]["key"] for one in document["tables"]] == ["stats"]


def test_an_inspection_never_says_that_a_table_is_sealed(people: Path) -> None:
    inspection = pme.inspect(people)
    screen = Console(file=io.StringIO(), width=200)
    screen.print(inspection)
    assert isinstance(screen.file, io.StringIO)
    for text in (str(inspection), inspection._repr_html_(), screen.file.getvalue()):
        assert "sealed" not in text
        assert "not checked" in text
        assert "No seal was checked" in text


def test_a_table_without_snapshots_shows_nothing_of_them(tmp_path: Path) -> None:
    table(tmp_path, "a.parquet", "b.parquet")
    shown = str(pme.inspect(tmp_path)).partition("\n")[2]
    assert "snapshot" not in shown
    assert "seal" not in shown
    [found] = pme.inspect(tmp_path).tables
    assert (found.versions, found.newest, found.findings, found.has_snapshots) == (0, None, (), False)


def test_a_single_file_belongs_to_no_table_that_is_looked_for(people: Path) -> None:
    inspection = pme.inspect(people / "day=1/a.parquet")
    assert inspection.tables == ()
    assert "seal" not in str(inspection)


def test_a_partition_shows_the_snapshot_of_its_table(people: Path) -> None:
    [found] = pme.inspect(people / "day=1").tables
    assert (found.table, found.versions, found.findings) == (str(people), 2, ())
    assert f"  snapshot  version 2 of {people}\n" in str(pme.inspect(people / "day=1"))
    (people / "_pme_snapshots/snapshot-0000000001.json").write_bytes(b"")
    findings = pme.inspect(people / "day=1").findings
    assert [finding.file for finding in findings] == [f"{people}/_pme_snapshots"] * 2


def test_each_table_below_a_path_has_its_own(tmp_path: Path, people: Path) -> None:
    put(
        table(tmp_path / "db" / "orders", "x=1/y=2/a.parquet"),
        1,
        manifest(content(files=1, parts=[], indexes=[]) | {"files": 0, "bytes": 0}, HMAC),
    )
    table(tmp_path / "visits", "a.parquet")
    table(tmp_path / "days", "a.parquet", "b/c.parquet")
    inspection = pme.inspect(tmp_path)
    assert [(found.table, found.versions) for found in inspection.tables] == [
        ("days", 0),
        ("days/b", 0),
        ("db/orders", 1),
        ("people", 2),
        ("visits", 0),
    ]
    assert of_snapshots(tmp_path) == [
        "  snapshots of  version  created           files  rows   seal, not checked",
        "  db/orders     1        2026-11-24 01:02  0      1,000  HMAC-SHA256, key 'footer'",
        "  people        2        2026-11-24 01:02  2      1,000  Ed25519, key 'signer'",
        "",
        (
            "[PME_SNAPSHOT_MISMATCH] db/orders/_pme_snapshots: version 1 lists 0 files of 0 bytes, but the table has 1 "
            "file of 79 bytes. Readers refuse the table. Find out who changed its files. If the change was intended, "
            "seal the table again with pme.seal."
        ),
        "no snapshots: days, days/b, visits",
        NOT_CHECKED,
    ]


def test_snapshots_without_a_file_are_shown(tmp_path: Path) -> None:
    chain(tmp_path / "_pme_snapshots", 1)
    [finding] = pme.inspect(tmp_path).findings
    assert "version 1 lists 2 files of 123,456 bytes, but the table has 0 files of 0 bytes" in finding.message


@pytest.mark.parametrize(
    "change",
    [
        lambda table: (table / "day=3").mkdir() or (table / "day=3/c.parquet").write_bytes(FILE),
        lambda table: (table / "day=1/a.parquet").unlink(),
        lambda table: (table / "day=1/a.parquet").write_bytes(encrypted(b"footer2")),
    ],
    ids=["added", "removed", "replaced"],
)
def test_files_that_the_newest_version_does_not_list_are_a_finding(people: Path, change: Any) -> None:
    change(people)
    [finding] = pme.inspect(people).findings
    assert (finding.file, finding.condition) == ("_pme_snapshots", "PME_SNAPSHOT_MISMATCH")
    assert run("inspect", people).code == 1


def test_a_file_without_a_byte_is_not_a_difference(people: Path) -> None:
    (people / "day=1/empty.parquet").write_bytes(b"")
    [finding] = pme.inspect(people).findings
    assert (finding.file, finding.condition) == ("day=1/empty.parquet", "PME_DAMAGED_FILE")


def test_problems_of_the_chain_are_findings(people: Path) -> None:
    (people / "_pme_snapshots" / INDEX).unlink()
    put(people / "_pme_snapshots", 4, b"{}\n{}\n")
    (people / "_pme_snapshots" / INDEX).unlink()
    inspection = pme.inspect(people)
    assert [finding.message for finding in inspection.findings] == [
        f"[PME_SNAPSHOT_DAMAGED] _pme_snapshots: {problem.partition('] ')[2]}"
        for problem in pme.snapshots(people).problems
    ]
    assert len(inspection.findings) == 4
    # An older version does not take the place of the newest.
    assert [(found.versions, found.newest) for found in inspection.tables] == [(2, None)]
    assert "version 3 is missing" in str(inspection)
    done = run("inspect", people, "--json")
    assert (done.code, len(done.document["tables"][0]["findings"])) == (1, 4)


def test_a_storage_that_refuses_the_snapshots_is_a_finding(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = _storage._Local.files

    def refused(self: Any) -> Any:
        if self._root.endswith("_pme_snapshots"):
            fail()
        return read(self)

    def fail() -> NoReturn:
        raise pme.PmeError("_pme_snapshots: it cannot be read: the storage failed with RuntimeError: no.")

    monkeypatch.setattr(_storage._Local, "files", refused)
    inspection = pme.inspect(people)
    [finding] = inspection.findings
    assert (finding.condition, finding.message.partition(": it")[0]) == ("", "_pme_snapshots")
    assert [found.has_snapshots for found in inspection.tables] == [True]


def test_no_text_of_a_manifest_controls_a_screen(tmp_path: Path) -> None:
    stated = content(creator=HOSTILE, **indexed(index(HOSTILE, key=HOSTILE)))
    seal = {"algorithm": "Ed25519", "key": HOSTILE, "value": "A" * 86 + "=="}
    for name in ("a", "b"):
        put(table(tmp_path / name, "x.parquet"), 1, manifest(stated, seal))
    for path in (tmp_path, tmp_path / "a"):
        inspection = pme.inspect(path)
        assert not any(sign in str(inspection) for sign in ("\x1b", "\u202e", "\n<"))
        assert "<script>" not in inspection._repr_html_()


def test_the_snapshots_of_a_chained_url_are_in_its_first_part() -> None:
    assert below("zip://people::file:///a.zip", "_pme_snapshots") == "zip://people/_pme_snapshots::file:///a.zip"
    assert [below(path, "b", "c") for path in ("/", "a/", "s3://a")] == ["/b/c", "a/b/c", "s3://a/b/c"]
