"""`pme.iceberg.check` of tables that are written here: without Spark, Iceberg, or a key."""

from __future__ import annotations

import gzip
import importlib.util
from typing import TYPE_CHECKING

import fsspec
import pytest

import pme_parquet as pme
from tests.iceberg import written
from tests.support.canary import kinds
from tests.support.commands import run
from tests.support.expect import refused

if TYPE_CHECKING:
    from pathlib import Path

KEY = bytes(16)


def encrypted(table: Path) -> Path:
    """Write a table that shows nothing."""
    written.metadata(table, **written.snapshot())
    written.put(table, "metadata/snap-1.avro", written.STREAM)
    written.put(table, "metadata/a-m0.avro", written.STREAM)
    written.put(table, "metadata/.snap-1.avro.crc", b"crc\x00" + bytes(4))
    written.data(table, "data/a.parquet", key=KEY)
    return table


def test_an_encrypted_table_has_no_findings(tmp_path: Path) -> None:
    found = pme.iceberg.check(encrypted(tmp_path))
    assert kinds(found) == [("note", "encrypted manifests", "")]
    assert (found.ok, found.key, found.version) == (True, "table-key", 0)
    assert found.looked_at == {"encrypted": 3, "metadata": 1, "other": 1}
    assert str(found).splitlines()[0].endswith("Iceberg table, version 0: no findings")


def test_a_key_that_a_catalog_ignored_is_found(tmp_path: Path) -> None:
    written.metadata(tmp_path, **(written.snapshot() | {"encryption-keys": []}))
    written.manifest_list(tmp_path, f"{written.PLACE}/metadata/a-m0.avro")
    written.manifest(tmp_path, f"{written.PLACE}/data/a.parquet")
    written.data(tmp_path, "data/a.parquet")
    written.data(tmp_path, "data/old.parquet")
    found = pme.iceberg.check(tmp_path)
    assert not found.ok
    assert kinds(found) == [
        ("high", "ignored key", ""),
        ("high", "plaintext file", "*"),
        ("high", "plaintext file", "*"),
        ("high", "statistics", "ssn"),
        ("low", "plaintext manifest", ""),
        ("low", "plaintext manifest", ""),
    ]
    assert "no wrapped key" in found.findings[0].what
    states = {one.file: one.what.split(":")[0] for one in found.findings if one.kind == "plaintext file"}
    assert states == {"data/a.parquet": "live", "data/old.parquet": "not of the newest version"}


def test_one_plaintext_file_of_any_kind_in_an_encrypted_table_is_found(tmp_path: Path) -> None:
    for at, (name, kind) in enumerate(
        {"data/b.parquet": "plaintext file", "metadata/b-m0.avro": "data keys", "metadata/b.stats": "puffin"}.items()
    ):
        table = encrypted(tmp_path / str(at))
        if name.endswith(".parquet"):
            written.data(table, name)
        elif name.endswith(".avro"):
            written.manifest(table, f"{written.PLACE}/data/a.parquet", name=name, key=KEY)
        else:
            written.put(table, name, b"PFA1" + bytes(20))
        found = pme.iceberg.check(table)
        assert not found.ok
        assert kind in {one.kind for one in found.findings if one.file == name}
        assert ("ignored key" in {one.kind for one in found.findings}) == (kind != "puffin")


def test_metadata_shows_keys_partitions_defaults_and_statistics(tmp_path: Path) -> None:
    encrypted(tmp_path)
    number = {"id": 1, "name": "id", "type": "long"}
    columns = [number, {"id": 2, "name": "ssn", "type": "string", "initial-default": "CANARY-4711"}]
    statistics = [{"blob-metadata": [{"fields": [2], "properties": {"ndv": "4711"}}]}]
    summary = {"partitions.ssn=CANARY-4711": "added-records=1"}
    written.metadata(
        tmp_path,
        1,
        properties={"write.data.path": "s3://other/data"},
        schemas=[{"type": "struct", "fields": columns}],
        statistics=statistics,
        **written.snapshot(summary=summary),
    )
    written.data(tmp_path, "data/id_bucket=0/ssn=CANARY-4711/b.parquet", key=KEY)
    assert kinds(pme.iceberg.check(tmp_path)) == [
        ("high", "no key", ""),
        ("high", "partition value", "id"),
        ("high", "partition value", "ssn"),
        ("high", "partition value", "ssn"),
        ("low", "default", "ssn"),
        ("low", "partition value", "id"),
        ("low", "statistics", "ssn"),
        ("unread", "outside path", ""),
        ("note", "encrypted manifests", ""),
    ]


def test_what_was_not_read_is_a_finding(tmp_path: Path) -> None:
    encrypted(tmp_path)
    written.put(tmp_path, "data/c.parquet", b"PAR1 and nothing else")
    written.put(tmp_path, "data/readme.txt", b"hello")
    written.put(tmp_path, "metadata/c-m0.avro", b"Obj\x01 cut")
    written.put(tmp_path, "metadata/00001-x.metadata.json", b"[")
    (tmp_path / "data" / "link.parquet").symlink_to(tmp_path / "data" / "a.parquet")
    written.manifest(tmp_path, "s3://other/a.parquet", name="metadata/d-m0.avro")
    found = pme.iceberg.check(tmp_path)
    unread = {one.file for one in found.findings if one.severity == "unread"}
    assert unread == {
        "data/c.parquet",
        "data/readme.txt",
        "data/link.parquet",
        "metadata/c-m0.avro",
        "metadata/00001-x.metadata.json",
        "metadata/d-m0.avro",
    }
    assert not found.ok


def test_compressed_metadata_is_read(tmp_path: Path) -> None:
    path = written.metadata(encrypted(tmp_path), 0, **written.snapshot())
    path.with_name("v1.gz.metadata.json").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    found = pme.iceberg.check(tmp_path)
    assert (found.ok, found.key, found.version) == (True, "table-key", 1)


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_the_command_prints_the_same_and_exits_by_what_was_found(tmp_path: Path, arguments: list[str]) -> None:
    table = encrypted(tmp_path)
    assert run("iceberg-check", table, *arguments).code == 0
    written.data(table, "data/b.parquet")
    done, expected = run("iceberg-check", table, *arguments), pme.iceberg.check(table)
    assert (done.code, done.err) == (1, "")
    assert done.document == expected.to_dict() if arguments else done.out == f"{expected}\n"
    assert run("iceberg-check", tmp_path / "gone").code == 2


def test_a_storage_is_reached_with_the_callers_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, options = "memory://iceberg-check", {"skip_instance_cache": True}
    fsspec.filesystem("memory").put(str(encrypted(tmp_path)), "/iceberg-check", recursive=True)
    found = pme.iceberg.check(place, options)
    assert (found.ok, found.storage) == (True, "storage_options: skip_instance_cache")
    assert "storage: storage_options: skip_instance_cache" in str(found)
    arguments = ["iceberg-check", place, "--json", "--storage-option", "skip_instance_cache=true"]
    assert run(*arguments).document == found.to_dict()
    monkeypatch.delenv("PME_TEST_UNSET", raising=False)
    with refused("PME_BAD_OPTION", "pme.iceberg.check", "PME_TEST_UNSET"):
        pme.iceberg.check(place, {"token": pme.env("PME_TEST_UNSET")})


def test_what_is_no_table_and_a_missing_package_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pme.BadOptionError, match="not an Iceberg table"):
        pme.iceberg.check(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(pme.UnsupportedError, match="pip install fastavro"):
        pme.iceberg.check(tmp_path)
