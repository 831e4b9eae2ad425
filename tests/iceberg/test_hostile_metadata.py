"""`pme.iceberg.check` of tables whose metadata and manifests someone wrote to mislead or stop it."""

from __future__ import annotations

import json
import random
import zlib
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.iceberg import written

if TYPE_CHECKING:
    from pathlib import Path

MANY = 10**12


def number(value: int) -> bytes:
    """Return a number as Avro writes it."""
    value, found = value << 1, b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def container(fields: list[Any], block: bytes, *, rows: int = 1, codec: str = "null") -> bytes:
    schema = json.dumps({"name": "manifest_entry", "type": "record", "fields": fields}).encode()
    header = number(2) + b"".join(
        number(len(part)) + part for part in (b"avro.schema", schema, b"avro.codec", codec.encode())
    )
    return b"Obj\x01" + header + number(0) + bytes(16) + number(rows) + number(len(block)) + block + bytes(16)


def deflated(content: bytes, times: int = 1) -> bytes:
    made = zlib.compressobj(9, zlib.DEFLATED, -15)
    return (made.compress(content) + made.flush(zlib.Z_FULL_FLUSH)) * times + made.flush()


def items(of: Any) -> list[Any]:
    return [{"name": "many", "type": {"type": "array", "items": of}}]


def unread(found: pme.iceberg.IcebergCheck, file: str) -> str:
    """Return why a file was not read."""
    assert not found.ok
    return " ".join(one.what for one in found.findings if one.severity == "unread" and one.file == file)


NOTHING = {"name": "r", "type": "record", "fields": []}
LINKED = {
    "name": "r",
    "type": "record",
    "fields": [{"name": "next", "type": ["null", "r"]}, {"name": "value", "type": "int"}],
}
HOSTILE = {
    "nulls": (container(items("null"), number(MANY) + number(0)), "items that Iceberg"),
    "empty records": (container(items(NOTHING), number(MANY) + number(0)), "items that Iceberg"),
    "fixed": (container(items({"name": "f", "type": "fixed", "size": 0}), number(MANY)), "items that Iceberg"),
    "recursive": (container([{"name": "a", "type": LINKED}], b"\x02" * 100_000), "recursive"),
    "no bytes": (container([{"name": "a", "type": "null"}], b"", rows=MANY), "too many rows"),
    "long block": (container(items("int"), deflated(bytes(1_000_000), 100), codec="deflate"), "too long"),
    "long row": (container(items("int"), number(5_000_000) + bytes(5_000_001)), "EOFError"),
    "many items": (container(items("int"), number(MANY) + b"\x02" * 1000), "EOFError"),
    "many booleans": (container(items("boolean"), number(MANY) + b"\x01"), "while it was read"),
    "other codec": (container(items("int"), b"", codec="snappy"), "codec"),
    "cut": (container(items("int"), number(0))[:-20], "cut"),
    "block cut": (container(items("int"), deflated(number(0))[:-1], codec="deflate"), "damaged"),
    "block with more": (container(items("int"), deflated(number(0)) + b"more", codec="deflate"), "damaged"),
    "number without end": (b"Obj\x01" + b"\xff" * 40, "cut or damaged"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_manifest_that_would_need_much_time_or_memory_is_not_read(tmp_path: Path, name: str) -> None:
    content, why = HOSTILE[name]
    written.metadata(tmp_path, **written.snapshot())
    written.put(tmp_path, "metadata/a-m0.avro", content)
    assert why in unread(pme.iceberg.check(tmp_path), "metadata/a-m0.avro")


def test_rows_of_a_block_longer_than_a_row_may_be_are_all_read(tmp_path: Path) -> None:
    written.metadata(tmp_path, **written.snapshot())
    written.manifest(tmp_path, *(f"s3://other/{at:0500}.parquet" for at in range(5000)))
    assert "5,000 files that are not below" in unread(pme.iceberg.check(tmp_path), "metadata/a-m0.avro")


def test_a_data_file_whose_header_has_a_name_that_is_no_text_is_plaintext(tmp_path: Path) -> None:
    written.metadata(tmp_path, **written.snapshot())
    schema = b'{"type": "record", "name": "rows", "fields": []}'
    entries = (b"\xff\xfe", b"", b"avro.schema", schema)
    header = number(2) + b"".join(number(len(part)) + part for part in entries) + number(0) + bytes(16)
    written.put(tmp_path, "data/a.avro", b"Obj\x01" + header)
    found = pme.iceberg.check(tmp_path).findings
    assert ("plaintext file", "high") in {(one.kind, one.severity) for one in found if one.file == "data/a.avro"}


def test_names_of_directories_count_also_above_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    columns = [{"id": 2, "name": "ssn", "type": "string"}]
    spec = [{"spec-id": 0, "fields": [{"source-id": 2, "field-id": 1000, "name": "ssn", "transform": "identity"}]}]
    schemas = [{"type": "struct", "fields": columns}]
    more: dict[str, Any] = {"schemas": schemas, "partition-specs": spec}
    written.metadata(tmp_path, **more, **written.snapshot())
    written.put(tmp_path, "data/ssn=123/a.bin", b"what is it?")
    found = pme.iceberg.check(tmp_path).findings
    assert {(one.kind, one.severity) for one in found if one.file.startswith("data/ssn")} == {
        ("partition value", "high"),
        ("not looked at", "unread"),
    }


def test_many_files_that_cannot_be_read_do_not_crowd_out_what_is_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pme_parquet._checks.results.MOST", 5)
    written.metadata(tmp_path, **written.snapshot())
    for at in range(20):
        written.put(tmp_path, f"data/{at}.bin", b"what is it?")
    written.data(tmp_path, "data/z.parquet")
    found = pme.iceberg.check(tmp_path).findings
    assert [one.file for one in found if one.kind == "plaintext file"] == ["data/z.parquet"]
    assert sum(one.kind == "not looked at" and one.file != "" for one in found) == 5
    assert "more than 5 findings" in unread(pme.iceberg.check(tmp_path), "")


def test_metadata_counts_only_in_its_directory(tmp_path: Path) -> None:
    written.metadata(tmp_path, properties={}, **written.snapshot())
    stray = written.metadata(tmp_path, 99999, **written.snapshot())
    stray.rename(tmp_path / stray.name)
    found = pme.iceberg.check(tmp_path)
    assert (found.ok, found.key, found.version) == (False, None, 0)
    assert "no file of a kind" in unread(found, stray.name)


@pytest.mark.parametrize("more", [{"table-uuid": "other"}, {"location": "s3://elsewhere/db/others"}])
def test_versions_of_another_table_are_reported(tmp_path: Path, more: dict[str, Any]) -> None:
    written.metadata(tmp_path, **written.snapshot())
    written.metadata(tmp_path, 1, **(written.snapshot() | more))
    assert "another table" in unread(pme.iceberg.check(tmp_path), "")


def test_a_version_without_the_key_is_reported_even_if_others_name_it(tmp_path: Path) -> None:
    old = written.metadata(tmp_path, properties={}, **written.snapshot())
    written.metadata(tmp_path, 1, **written.snapshot())
    found = pme.iceberg.check(tmp_path)
    assert [one.file for one in found.findings if one.kind == "no key"] == [f"metadata/{old.name}"]
    assert not found.ok


def test_nothing_is_promised_of_a_table_without_data_and_wrapped_keys(tmp_path: Path) -> None:
    none: dict[str, Any] = {"encryption-keys": []}
    written.metadata(tmp_path, **none)
    assert "no data yet" in unread(pme.iceberg.check(tmp_path), "")


def test_files_are_called_old_only_if_a_list_of_manifests_was_read(tmp_path: Path) -> None:
    inline: dict[str, Any] = {"current-snapshot-id": 1, "snapshots": [{"snapshot-id": 1, "manifests": ["a"]}]}
    none: dict[str, Any] = {}
    for at, snapshots in enumerate((none, inline)):
        written.metadata(tmp_path / str(at), **snapshots)
        written.data(tmp_path / str(at), "data/a.parquet")
        found = pme.iceberg.check(tmp_path / str(at))
        assert [one.what.split(":")[0] for one in found.findings if one.file == "data/a.parquet"] == ["live or not"]


@pytest.mark.parametrize("location", ["s3:", "s3://", "/", ""])
def test_a_location_that_is_no_place_has_nothing_below_it(tmp_path: Path, location: str) -> None:
    written.metadata(tmp_path, **(written.snapshot() | {"location": location}))
    written.manifest(tmp_path, "s3://other/a.parquet")
    assert "1 files that are not below" in unread(pme.iceberg.check(tmp_path), "metadata/a-m0.avro")


def test_a_field_that_metadata_has_twice_is_not_read(tmp_path: Path) -> None:
    path = written.metadata(tmp_path, **written.snapshot())
    path.write_text(path.read_text().replace('"properties":', '"properties": {}, "properties":', 1))
    assert unread(pme.iceberg.check(tmp_path), f"metadata/{path.name}")


def _deep(depth: int, name: str) -> Any:
    of: Any = "int"
    for _ in range(depth):
        of = {"type": "struct", "fields": [{"id": 1, "name": name, "type": of}]}
    return of


LEAVES = [{"id": at, "name": "c", "type": "int"} for at in range(10)]
DOCUMENTS = {
    "long names": {"schema": _deep(3, "n" * 1000)},
    "very long name": {"schema": {"fields": [{"id": 1, "name": "n" * 10_000, "type": {"fields": LEAVES}}]}},
    "deep": {"schema": _deep(70, "n")},
    "many": {"schema": {"fields": [{"id": at, "name": "n", "type": "int"} for at in range(100_002)]}},
    "key": {"properties": {"encryption.key-id": {}}},
    "location": {"location": "s3://" + "a" * 10_000},
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_metadata_that_would_need_much_memory_is_not_read(tmp_path: Path, name: str) -> None:
    path = written.metadata(tmp_path, **(written.snapshot() | DOCUMENTS[name]))
    assert unread(pme.iceberg.check(tmp_path), f"metadata/{path.name}")


def test_nothing_that_was_changed_by_chance_stops_a_check(tmp_path: Path) -> None:
    chance = random.Random(7)  # noqa: S311 of a test
    statistics = [{"blob-metadata": [{"fields": [2], "properties": {"ndv": "1"}}]}]
    path = written.metadata(tmp_path, statistics=statistics, **written.snapshot(summary={"partitions.a": "1"}))
    written.manifest_list(tmp_path, f"{written.PLACE}/metadata/a-m0.avro")
    written.manifest(tmp_path, f"{written.PLACE}/data/a.parquet")
    manifest = tmp_path / "metadata" / "a-m0.avro"
    document, content = json.loads(path.read_text()), manifest.read_bytes()
    for _ in range(200):
        changed = bytearray(content)
        for at in chance.sample(range(4, len(changed)), 3):
            changed[at] = chance.randrange(256)
        manifest.write_bytes(changed)
        path.write_text(json.dumps(_changed(document, chance)))
        assert pme.iceberg.check(tmp_path).findings


def _changed(value: Any, chance: random.Random) -> Any:
    """Return a document in which some values are of other types."""
    if chance.random() < 0.05:
        return chance.choice([5, None, [], {}, "text", [5], {"fields": 5}, True, 10**30])
    if isinstance(value, dict):
        return {name: _changed(one, chance) for name, one in value.items()}
    return [_changed(one, chance) for one in value] if isinstance(value, list) else value
