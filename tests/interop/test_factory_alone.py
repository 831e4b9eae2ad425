"""Spark's own ``parquet`` source with our crypto factory, with a Hadoop configuration alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.canary import data_files, files_under, find_canaries
from tests.support.expect import untouched
from tests.support.kms import counting

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

FACTORY = {"parquet.crypto.factory.class": "io.pmeparquet.parquet.PmeCryptoFactory"}


def alone(options: dict[str, str]) -> dict[str, str]:
    """Return options of ours as the settings of a Hadoop configuration."""
    own = {f"pme-parquet.{name}": value for name, value in options.items() if not name.startswith("counting.")}
    return FACTORY | own


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.range(0, 1000, 1, 8).selectExpr("id", "concat('canary-', id) AS ssn", "id * 1.5D AS salary")


def rows(frame: DataFrame) -> list[str]:
    return sorted(map(repr, frame.collect()))


def test_sparks_own_source_and_ours_read_what_the_other_wrote(
    spark: SparkSession, frame: DataFrame, keys: pme.Keystore, tmp_path: Path
) -> None:
    enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["ssn"], "pay": ["salary"]})
    theirs, ours = str(tmp_path / "theirs"), str(tmp_path / "ours")
    frame.write.format("parquet").options(**alone(enc.options())).save(theirs)
    pme.write(frame, ours, enc)
    assert find_canaries(theirs, [f"canary-{number}" for number in range(0, 1000, 50)]) == []
    for path in (theirs, ours):
        assert rows(spark.read.format("parquet").options(**alone(keys.options())).load(path)) == rows(frame)
        assert rows(pme.read(spark, path, kms=keys)) == rows(frame)
    # The same columns under the same keys.
    used = [pme.key_usage(spark, path, kms=keys).drop("files", "bytes").collect() for path in (theirs, ours)]
    assert used[0] == used[1]


def test_a_write_that_would_not_protect_as_asked_fails_and_leaves_nothing(
    frame: DataFrame, keys: pme.Keystore, target: str
) -> None:
    for options in ({}, {"footerKey": "absent"}, {"footerKey": "footer", "columnKeys": "pii: absent"}):
        with pytest.raises(Exception, match=r"PME_(NO_KEY|KEY_NOT_FOUND|UNKNOWN_COLUMN)"):
            frame.write.format("parquet").options(**alone(keys.options() | options)).mode("append").save(target)
        # Spark's source leaves the directory.
        assert list(files_under(target)) == []


def test_settings_that_nothing_reads_are_refused(frame: DataFrame, enc: pme.Encryption, target: str) -> None:
    settings = alone(enc.options())
    own = {name: value for name, value in settings.items() if name not in FACTORY}
    other = {"parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"}
    for name, options in (("parquet", own), ("parquet", own | other), ("json", settings), ("orc", settings)):
        with untouched(target), pytest.raises(Exception, match=r"pme-parquet\.footerKey"):
            frame.write.format(name).options(**options).save(target)


def test_a_plaintext_file_in_a_table_is_refused(
    spark: SparkSession, frame: DataFrame, keys: pme.Keystore, enc: pme.Encryption, target: str
) -> None:
    frame.write.format("parquet").options(**alone(enc.options())).save(target)
    frame.write.format("parquet").mode("append").save(target)
    reader = spark.read.format("parquet").schema(frame.schema)
    with pytest.raises(Exception, match="PME_PLAINTEXT_FILE"):
        reader.options(**alone(keys.options())).load(target).collect()
    allowed = alone(keys.options() | {"plaintextFiles": "allow"})
    assert reader.options(**allowed).load(target).count() == 2 * frame.count()


def test_a_process_calls_the_kms_once_for_each_key(
    spark: SparkSession, frame: DataFrame, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    counting.load(spark, tmp_path_factory)
    log = counting.Log(tmp_path / "calls.log")
    settings = alone(log.options()) | {"counting.kms.log": str(log.path)}
    target = str(tmp_path / "table")
    keyed = settings | {"pme-parquet.footerKey": "footer", "pme-parquet.columnKeys": "k1: ssn; k2: salary"}
    frame.write.format("parquet").options(**keyed).save(target)
    assert len(data_files(target)) == 8
    assert log.count("wrap") == {"footer": 1, "k1": 1, "k2": 1}
    assert rows(spark.read.format("parquet").options(**settings).load(target)) == rows(frame)
    assert log.count("unwrap") == {"footer": 1, "k1": 1, "k2": 1}
