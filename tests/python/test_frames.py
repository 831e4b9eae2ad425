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
