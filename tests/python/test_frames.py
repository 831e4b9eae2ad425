"""`pme.write` and `pme.read` name the format themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support.canary import assert_encrypted_footers
from tests.support.expect import refused
from tests.support.frames import people
from tests.support.logs import warnings
from tests.support.source import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_what_is_written_is_encrypted_and_read_back(
    spark: SparkSession, enc: pme.Encryption, keys: pme.Keystore, tmp_path: Path
) -> None:
    frame, path = people(spark), tmp_path / "t"
    pme.write(frame, path, enc, partition_by=["country"], options={"compression": "gzip"})
    assert_encrypted_footers(str(path))
    assert (path / "country=de").is_dir()
    assert list(path.rglob("*.gz.parquet"))
    for by in (keys, enc, keys.options()):
        assert rows(pme.read(spark, path, by).select(frame.columns)) == rows(frame)
    first = pme.read(spark, str(path), kms=keys, schema="id BIGINT", options={"mergeSchema": True})
    assert first.columns == ["id", "country"]


def test_modes_are_those_of_spark(spark: SparkSession, enc: pme.Encryption, keys: pme.Keystore, target: str) -> None:
    for mode, count in (("error", 2), ("append", 4), ("ignore", 4), ("overwrite", 2)):
        pme.write(spark.range(2), target, enc, mode=mode)  # type: ignore[arg-type]
        assert pme.read(spark, target, keys).count() == count
    with pytest.raises(Exception, match="PATH_ALREADY_EXISTS"):
        pme.write(spark.range(2), target, enc)


def test_an_encryption_on_read_binds_files_to_its_keys(spark: SparkSession, enc: pme.Encryption, target: str) -> None:
    pme.write(spark.range(2), target, enc)
    with refused("PME_AAD_PREFIX"):
        pme.read(spark, target, replace(enc, aad_prefix="another")).collect()


def test_a_write_without_a_key_is_refused(spark: SparkSession, keys: pme.Keystore, target: str) -> None:
    with refused("PME_NO_KEY"):
        pme.write(spark.range(1), target, pme.Encryption(kms=keys))
    assert not Path(target).exists()


def test_nothing_but_options_is_used() -> None:
    class Session:
        def __init__(self) -> None:
            self.said: list[Any] = []

        def __getattr__(self, name: str) -> Any:
            assert name not in {"_jvm", "_jsparkSession", "sparkContext", "_jdf"}
            self.said.append(name)
            return self

        def __call__(self, *arguments: object, **options: object) -> Session:
            self.said.append((arguments, options))
            return self

    enc = pme.Encryption(kms="vault", footer_key="footer")
    session: Any = Session()
    pme.write(session, "t", enc)
    pme.read(session, "t", "vault")
    assert session.said.count((("pme-parquet",), {})) == 2


def test_a_write_that_names_no_keys_takes_those_of_the_newest_snapshot_and_says_so(
    spark: SparkSession, keys: pme.Keystore, target: str
) -> None:
    frame = spark.range(3).selectExpr("id", "'x' AS name", "struct(id AS `a.b`) AS s")
    pme.write(frame, target, pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["name", "s.`a.b`"]}))
    pme.seal(spark, target, kms=keys, expect="unsealed", progress=False)
    with warnings(spark) as said:
        pme.write(frame, target, pme.Encryption(kms=keys), mode="append", options={"snapshot": "update"})
    assert any("names no keys, so it uses those of snapshot 1" in line and '"pii"' in line for line in said)
    used = {(row.master_key, row.files, tuple(row.columns)) for row in pme.key_usage(spark, target, kms=keys).collect()}
    assert {(key, columns) for key, _, columns in used} == {("footer", ("id",)), ("pii", ("name", "s.`a.b`"))}
    assert pme.read(spark, target, keys, options={"snapshot": "require"}).count() == 6


def test_the_keys_of_a_forged_snapshot_are_not_taken(spark: SparkSession, keys: pme.Keystore, target: str) -> None:
    enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["id"]})
    pme.write(spark.range(3), target, enc)
    pme.seal(spark, target, kms=keys, expect="unsealed", progress=False)
    [manifest] = Path(target, "_pme_snapshots").glob("snapshot-*.json")
    manifest.write_text(manifest.read_text().replace('"pii"', '"pay"'))
    with refused("PME_SNAPSHOT_NOT_AUTHENTIC"):
        pme.write(spark.range(3), target, pme.Encryption(kms=keys), mode="append", options={"snapshot": "update"})


def test_an_append_under_a_retired_key_warns_and_names_rotate(
    spark: SparkSession, keys: pme.Keystore, target: str
) -> None:
    enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["id"]})
    pme.write(spark.range(3), target, enc)
    with warnings(spark) as said:
        pme.write(spark.range(3), target, enc, mode="append")
    assert not [line for line in said if "pme.rotate" in line]
    pme.rotate(spark, target, kms=keys, master_keys={"pii": "pay"}, progress=False)
    with warnings(spark) as said:
        pme.write(spark.range(3), target, enc, mode="append")
    [warned] = [line for line in said if "pme.rotate" in line]
    assert "(pii) in place of those of the table's files (pay)" in warned
