"""What someone puts into the storage: a check does not fail, follow it, or take it for looked at."""

from __future__ import annotations

import json
import os
import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from pme_parquet._checks.delta import table as delta_table
from pme_parquet._delta_log import log
from pme_parquet._storage import Found
from tests.delta import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pme_parquet.delta import DeltaCheck

SECRET = "CANARY-OUTSIDE"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    made = tmp_path / "table"
    stats = {"numRecords": 1, "minValues": {"id": "1"}}
    written.encrypted(made, "a.parquet", "x", plaintext_footer=True)
    written.commit(made, 0, written.metadata(), written.add("a.parquet", stats))
    return made


def check(table: Path) -> DeltaCheck:
    return pme.delta.check(table, columns=["ssn"])


def kinds(found: DeltaCheck) -> set[tuple[str, str]]:
    return {(one.kind, one.severity) for one in found.findings}


def assert_no_fault(found: DeltaCheck) -> None:
    assert not [one.what for one in found.findings if "fault" in one.what]


def test_the_table_without_anything_hostile_is_fine(table: Path) -> None:
    assert check(table).findings == ()


LINES: dict[str, bytes] = {
    "not JSON": b"{",
    "no object": b"[1]",
    "not UTF-8": b'{"add":"\xff"}',
    "too deep": b'{"add":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "a number with many digits": b'{"add":' + b"1" * 10_000 + b"}",
    "a field twice": b'{"commitInfo":{"a":1,"a":"ssn"}}',
    "statistics that are not JSON": b'{"add":{"path":"b","stats":"{"}}',
    "schema that is not JSON": b'{"metaData":{"schemaString":"{"}}',
    "schema of other types": b'{"metaData":{"schemaString":"{\\"fields\\":[3]}"}}',
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_cannot_be_read_is_not_taken_for_looked_at(table: Path, name: str) -> None:
    # Not in a commit, which deltalake would refuse first.
    (table / "_delta_log" / "00000000000000000000.crc").write_bytes(LINES[name] + b"\n{}\n")
    found = check(table)
    assert ("not looked at", "unread") in kinds(found)
    assert not found.ok


ODD: list[Any] = [None, 1, -1.5, True, "x", [], {}, [[]], {"": None}, [{"a": 1}], "\u202essn"]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_values_of_other_types_do_no_harm(table: Path, value: Any) -> None:
    file = ["path", "partitionValues", "stats", "stats_parsed", "tags", "deletionVector"]
    inside = ["minValues", "nullCount", "x"]
    actions = [{kind: value} for kind in ("add", "remove", "cdc", "metaData", "commitInfo", "domainMetadata", "x")]
    actions += [{"add": {name: value}} for name in file]
    actions += [{"add": {"stats": json.dumps({name: value})}} for name in inside]
    actions += [{"metaData": {name: value}} for name in ("schemaString", "configuration", "partitionColumns", "name")]
    actions += [{"metaData": {"schemaString": json.dumps({"fields": value})}}]
    actions += [{"commitInfo": {name: value}} for name in ("operationParameters", "userMetadata")]
    actions += [{"allFiles": value}, {"v2Checkpoint": value}, {"v2Checkpoint": {"nonFileActions": value}}]
    written.put(table, "00000000000000000000.crc", *actions)
    assert_no_fault(check(table))


def test_a_long_line_is_skipped_and_the_next_one_is_read(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MAX_LINE", 4096)
    long = {"x": "y" * 20_000}
    written.put(table, "00000000000000000000.crc", long, written.add("b", {"minValues": {"ssn": "1"}}))
    found = check(table)
    assert {("not looked at", "unread"), ("statistics", "high")} <= kinds(found)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../b", "a/../../b", "file:/etc/passwd", "s3://b/c", "%2e%2e/b", "..\\b"]
)
def test_paths_out_of_the_table_are_not_followed(table: Path, path: str) -> None:
    written.put(table, "00000000000000000000.crc", written.add(path))
    found = check(table)
    assert ("outside path", "unread") in kinds(found)
    assert "passwd" not in json.dumps(found.to_dict())


@pytest.mark.parametrize("name", ["b.parquet", "_delta_log/00000000000000000001.json", "_delta_log/_sidecars", "c"])
def test_links_are_not_followed(table: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    written.commit(outside, 0, {"commitInfo": {"userMetadata": f"ssn {SECRET}"}})
    written.plaintext(outside, "d.parquet", SECRET)
    target = {"b.parquet": outside / "d.parquet", "c": outside}.get(name, outside / "_delta_log")
    if name.endswith(".json"):
        target /= f"{0:020}.json"
    (table / name).symlink_to(target)
    found = check(table)
    assert [(one.kind, one.severity, one.file) for one in found.findings] == [("link", "unread", name)]


def test_a_log_behind_a_link_is_not_followed(table: Path) -> None:
    (table / "_delta_log").rename(table / "other")
    (table / "_delta_log").symlink_to("other")
    with pytest.raises(pme.BadOptionError, match="has no _delta_log"):
        check(table)


@pytest.mark.parametrize("limit", ["MAX_FILE", "MAX_BYTES"])
def test_a_log_that_is_too_long_is_not_read(table: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(log, limit, 10)
    found = check(table)
    assert {("not looked at", "unread"), ("unsupported table", "unread")} <= kinds(found)


def test_more_files_than_are_looked_at(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_table, "MAX_FILES", 1)
    written.plaintext(table, "b.parquet", "x")
    assert ("not looked at", "unread") in kinds(check(table))


def test_a_table_that_deltalake_refuses_is_looked_at_all_the_same(table: Path) -> None:
    features = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["new"], "writerFeatures": ["new"]}
    written.put(table, f"{1:020}.json", {"protocol": features}, written.add("b.parquet", {"minValues": {"ssn": "1"}}))
    written.plaintext(table, "b.parquet", "x")
    found = check(table)
    assert {("unsupported table", "unread"), ("statistics", "high"), ("plaintext file", "high")} <= kinds(found)
    assert found.version is None


@pytest.mark.parametrize("gone", [f"{0:020}.json", f"{1:020}.json"])
def test_commits_that_are_missing_leave_open_which_files_are_live(table: Path, gone: str) -> None:
    # deltalake reads the rest, and takes it for the whole table.
    written.commit(table, 1, written.metadata())
    written.commit(table, 2, {**written.PROTOCOL, **written.metadata()})
    (table / "_delta_log" / gone).unlink()
    found = check(table)
    assert ("unsupported table", "unread") in kinds(found)
    assert found.version is None


def flip(content: bytes, dice: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(dice.randint(1, 8)):
        changed[dice.randrange(len(changed))] = dice.randrange(256)
    return bytes(changed[: dice.randint(1, len(changed))] if dice.random() < 0.3 else changed)


@pytest.mark.parametrize("make", ["json", "checkpoint", "data"])
def test_altered_files_do_no_harm(table: Path, tmp_path: Path, make: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    dice = random.Random(make)  # noqa: S311 altered files are no secrets
    write_deltalake(table, written.rows("1", "2"), mode="append")
    DeltaTable(table).create_checkpoint()
    pattern = {"json": "_delta_log/*1.json", "checkpoint": "_delta_log/*.parquet", "data": "a.parquet"}[make]
    [victim] = table.glob(pattern)
    whole = victim.read_bytes()
    for _ in range(25):
        victim.write_bytes(flip(whole, dice))
        assert_no_fault(check(table))
    shutil.rmtree(tmp_path)


def refused_read(*_: object) -> bytes:
    raise OSError("no")


def test_a_storage_that_fails_is_a_finding(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pme_parquet import _storage

    failing: Callable[..., bytes] = refused_read
    monkeypatch.setattr(_storage._Local, "read", failing)
    found = check(table)
    assert {one.file for one in found.findings if one.severity == "unread"} >= {
        "a.parquet",
        "_delta_log/00000000000000000000.json",
    }


@pytest.mark.parametrize("name", ["notes.csv", "_delta_log/x.txt", ".hidden"])
def test_a_file_of_another_kind_is_not_taken_for_looked_at(table: Path, name: str) -> None:
    (table / name).write_text("ssn,1")
    assert [(one.kind, one.file) for one in check(table).findings] == [("not looked at", name)]


@pytest.mark.parametrize("name", ["_delta_log/00000000000000000001.crc", "pipe"])
def test_what_is_no_regular_file_is_not_taken_for_looked_at(table: Path, name: str) -> None:
    os.mkfifo(table / name)
    assert [(one.kind, one.file) for one in check(table).findings] == [("not looked at", name)]


def test_checksums_of_hadoop_are_no_finding(table: Path) -> None:
    for name in (".a.parquet.crc", "_delta_log/.00000000000000000000.json.crc"):
        (table / name).write_bytes(b"crc\x00\x00\x00\x02\x00abcd")
    assert check(table).findings == ()


class Listing:
    """A storage of objects, whose names may be anything."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def files(self) -> Iterator[Found]:
        return (Found(name, name, len(CONTENT), regular=True) for name in self._names)

    everything = files

    def read(self, _path: str, start: int, end: int) -> bytes:
        return CONTENT[start:end]


CONTENT = b'{"commitInfo": {}}\n'


@pytest.mark.parametrize(
    "name", ["../../x.json", "_delta_log/../../x.json", "_delta_log/a/../../../x.crc", "_delta_log/../_last_checkpoint"]
)
def test_a_name_that_leads_out_of_the_log_is_not_copied(tmp_path: Path, name: str) -> None:
    storage, private, unread = Listing(name, "_delta_log/y.json"), tmp_path / "a" / "b" / "private", []
    private.mkdir(parents=True)
    log.copied(storage, list(storage.files()), private, lambda file, _: unread.append(file))
    copied = [path.relative_to(private).as_posix() for path in tmp_path.rglob("*") if path.is_file()]
    assert copied == ["_delta_log/y.json"]
    assert unread == ([name] if name.startswith("_delta_log") else [])


def test_deep_statistics_are_not_followed(table: Path) -> None:
    deep: Any = 1
    for _ in range(400):
        deep = {"a": deep}
    written.commit(table, 1, written.add("b", {"numRecords": 1, "minValues": {"ssn": deep, "other": deep}}))
    found = check(table)
    assert ("not looked at", "unread") in kinds(found)
    assert any("64 levels" in one.what for one in found.findings)


def test_no_value_of_a_directory_s_name_is_shown(table: Path) -> None:
    written.commit(table, 1, written.add(f"day={SECRET}/b.parquet", {"minValues": {"ssn": "1"}}))
    (table / f"day={SECRET}").mkdir()
    written.encrypted(table, f"day={SECRET}/b.parquet", "x", plaintext_footer=True)
    assert SECRET not in repr(check(table).to_dict()) + str(check(table))
