"""Attacks on the writes that seal a table, and writes of every shape that must keep it sealed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.snapshots.tables import KMS, MISMATCH, ids
from tests.support.canary import data_files
from tests.support.expect import refused, untouched
from tests.support.files.anatomy import Anatomy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

FOOTER = KMS | {"footerKey": "footer"}


def write(frame: DataFrame, path: str, *partitions: str, mode: str = "append", **options: str) -> None:
    """Write the frame under the footer's key."""
    writer = frame.write.format("pme-parquet").options(**FOOTER | options)
    writer.mode(mode).partitionBy(*partitions).save(path)


def numbers(spark: SparkSession, start: int = 0, count: int = 10) -> DataFrame:
    """Return ids in two files."""
    return spark.range(start, start + count, 1, 2)


def required(spark: SparkSession, path: str, **options: str) -> list[int]:
    """Return the ids that a new session reads, which requires a snapshot."""
    return ids(spark.newSession(), path, snapshot="require", **options)


def test_storage_alone_cannot_slip_an_encrypted_file_into_encryption_in_place(
    spark: SparkSession, target: str, tmp_path: Path
) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    spark.range(10).coalesce(1).write.parquet(target)
    write(spark.range(500, 510).coalesce(1), elsewhere)
    pme.seal(spark, target, options=FOOTER | {"plaintextFiles": "allow"}, expect="unsealed")
    file = Path(data_files(target)[0])
    shutil.copy(data_files(elsewhere)[0], file)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    kms = pme.KmsClass(KMS["kms"])
    with untouched(target), refused(MISMATCH, "replaced"):
        pme.encrypt(spark, target, None, pme.Encryption(kms=kms, footer_key="footer"), in_place=True)


def in_place_of(content: bytes, other: bytes) -> bytes:
    """Return the first file with the ``aad_file_unique`` of the other one, as a holder of its keys can make it."""
    file, unique = Anatomy(content), Anatomy(other).aad
    made = bytearray(content)
    for module in file.modules:
        seal = module.seal._replace(aad=unique + module.seal.aad[len(file.aad) :])
        made[module.offset : module.end] = seal.seal(module.seal.open(file.bytes_of(module)))
    at = content.index(file.aad, file.footer_at)
    made[at : at + len(unique)] = unique
    return bytes(made)


def test_a_rotation_vouches_for_no_file_under_another_footer_key(
    spark: SparkSession, target: str, tmp_path: Path
) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    write(spark.range(10).coalesce(1), target, snapshot="update")
    write(spark.range(500, 510).coalesce(1), elsewhere, footerKey="pii")
    file = Path(data_files(target)[0])
    file.write_bytes(in_place_of(Path(data_files(elsewhere)[0]).read_bytes(), file.read_bytes()))
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    with untouched(target), refused(MISMATCH, "replaced"):
        pme.rotate(spark.newSession(), target, kms=pme.KmsClass(KMS["kms"]), master_keys={"pii": "pii-2"})


VALUES = [
    "a b",
    "100%",
    "k=v",
    None,
    "ünï/ödé",
    "a:b",
    "x%3Dy",
    "",
    "*?[x]",
    "snapshot_",
    "_hidden",
    ".dot",
    "a\\b",
    "+",
    "#q?",
]


def partitioned(spark: SparkSession, start: int) -> DataFrame:
    """Return ids with partition values that directories cannot have as they are."""
    return spark.createDataFrame([(start + at, value) for at, value in enumerate(VALUES)], "id long, p string")


@pytest.mark.parametrize("mode", ["append", "dynamic", "overwrite"])
def test_partition_values_of_any_kind_are_sealed(spark: SparkSession, target: str, mode: str) -> None:
    write(partitioned(spark, 0), target, "p", snapshot="update")
    assert required(spark, target) == list(range(15))
    dynamic = {"partitionOverwriteMode": "dynamic"} if mode == "dynamic" else {}
    write(partitioned(spark, 20), target, "p", mode="append" if mode == "append" else "overwrite", **dynamic)
    again = list(range(20, 35))
    assert required(spark, target) == (list(range(15)) + again if mode == "append" else again)


@pytest.fixture
def defaults(conf: Conf) -> Iterator[None]:
    """Set the keys for the session."""
    with conf({f"spark.datasource.pme-parquet.{name}": value for name, value in FOOTER.items()}):
        yield


def sealed_in_catalog(spark: SparkSession, target: str) -> None:
    """Make a sealed table with the partitions 0 and 1, and name it in the catalog."""
    write(numbers(spark).selectExpr("id", "id % 2 AS p"), target, "p", snapshot="update")
    spark.sql("DROP TABLE IF EXISTS attacked")
    spark.sql(f"CREATE TABLE attacked (id BIGINT, p BIGINT) USING `pme-parquet` PARTITIONED BY (p) LOCATION '{target}'")
    spark.sql("MSCK REPAIR TABLE attacked")


@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.usefixtures("defaults")
def test_inserts_of_every_kind_keep_a_table_sealed(spark: SparkSession, target: str, conf: Conf, mode: str) -> None:
    sealed_in_catalog(spark, target)
    statements = (
        "INSERT INTO attacked VALUES (100, 1)",
        "INSERT INTO attacked PARTITION (p = 7) VALUES (101)",
        "INSERT OVERWRITE attacked PARTITION (p = 1) VALUES (102)",
        "INSERT OVERWRITE attacked PARTITION (p = 7) IF NOT EXISTS VALUES (103)",
        "INSERT OVERWRITE attacked PARTITION (p = 7) SELECT 1L WHERE false",
        "INSERT OVERWRITE attacked VALUES (104, 1)",
    )
    with conf({"spark.sql.sources.partitionOverwriteMode": mode}):
        for statement in statements:
            spark.sql(statement)
            assert required(spark, target) == sorted(row.id for row in spark.table("attacked").collect()), statement
    spark.sql("DROP TABLE attacked")


@pytest.mark.usefixtures("defaults")
def test_a_partition_with_a_location_of_its_own_is_refused_before_the_commit(
    spark: SparkSession, target: str, tmp_path: Path
) -> None:
    sealed_in_catalog(spark, target)
    spark.sql(f"ALTER TABLE attacked ADD PARTITION (p = 9) LOCATION '{tmp_path / 'own'}'")
    with untouched(target), refused("PME_UNSUPPORTED", "location of its own"):
        spark.sql("INSERT INTO attacked VALUES (100, 9)")
    spark.sql("DROP TABLE attacked")


def test_a_part_of_a_sealed_table_gets_no_other_master_keys(spark: SparkSession, target: str) -> None:
    frame = numbers(spark).selectExpr("id", "id % 2 AS p")
    write(frame, target, "p", snapshot="update")
    kms = pme.KmsClass(KMS["kms"])
    for place in (f"{target}/p=1", str(data_files(target)[0])):
        with untouched(target), refused("PME_UNSUPPORTED", "Rotate the whole table"):
            pme.rotate(spark, place, kms=kms, master_keys={"footer": "footer-2"})
