"""A copied table has the requested files, directories and keys, and appears whole or not at all."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.rekey.copies import copy, left
from tests.rekey.waiting import wait_until_alone
from tests.support.canary import data_files, find_canaries
from tests.support.expect import refused, snapshot
from tests.support.files import bend
from tests.support.frames import people
from tests.support.interop.arrow_kms import master_key
from tests.support.metrics import rows_scanned
from tests.support.session import TEST_KMS
from tests.support.source import rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

OLD = {"kms": TEST_KMS, "uniformKey": "old"}
NEW = pme.Encryption(kms=TEST_KMS, uniform_key="new")
ODD = ["a b", "x:y", "50%", "ü", "a/b", "n=v", None]

SMALL_PAGES = {"parquet.page.row.count.limit": "100"}
BLOOM = {"parquet.bloom.filter.enabled#name": "true", "parquet.enable.dictionary": "false"}


def save(frame: DataFrame, path: Path, *partitions: str, **options: str) -> Path:
    frame.write.format("pme-parquet").options(**OLD, **options).partitionBy(*partitions).save(str(path))
    return path


def load(spark: SparkSession, path: Path | str, **options: str) -> DataFrame:
    return spark.read.format("pme-parquet").options(kms=TEST_KMS, **options).load(str(path))


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> Path:
    return save(people(spark), tmp_path / "source")


def test_directories_and_file_names_stay(spark: SparkSession, tmp_path: Path, target: str) -> None:
    frame = spark.createDataFrame([(n, n % 2, value) for n, value in enumerate(ODD)], "id int, half int, odd string")
    source = save(frame, tmp_path / "source", "half", "odd")
    copy(spark, source, target, NEW)
    assert [path.relative_to(target) for path in data_files(target)] == [
        path.relative_to(source) for path in data_files(source)
    ]
    assert rows(load(spark, target)) == rows(load(spark, source)) == rows(frame)
    assert left(tmp_path) == ["source", "table"]


def test_a_single_file_is_copied(spark: SparkSession, source: Path, target: str) -> None:
    file = data_files(source)[0]
    copy(spark, file, target, NEW)
    assert rows(load(spark, target)) == rows(load(spark, file))
    assert [path.name for path in data_files(target)] == [file.name]


def test_names_that_uris_escape_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    source = save(people(spark), tmp_path / "the source 100%")
    target = tmp_path / "the target 100%"
    copy(spark, source, target, NEW)
    assert rows(load(spark, target)) == rows(people(spark))


def test_indexes_of_the_copy_skip_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(0, 5000, 1, 1).selectExpr("id", "concat('name-', sha2(CAST(id AS STRING), 256)) AS name")
    source, target = save(frame, tmp_path / "source", **SMALL_PAGES, **BLOOM), tmp_path / "target"
    copy(spark, source, target, NEW)

    def scanned(where: str) -> int:
        return rows_scanned(load(spark, target).where(where).select(where.split(maxsplit=1)[0]))

    assert scanned("id IN (17, 4321)") == 200
    assert scanned("id > 5000") == 0
    assert scanned("name = 'name-5-not-there'") == 0


def test_a_copy_is_not_read_with_the_old_keys(spark: SparkSession, source: Path, target: str, tmp_path: Path) -> None:
    copy(spark, source, target, NEW)

    def static(*names: str) -> dict[str, str]:
        file = tmp_path / f"{'-'.join(names)}.txt"
        file.write_text("\n".join(f"{name}={base64.b64encode(master_key(name)).decode()}" for name in names))
        return pme.Static(pme.file(str(file))).options()

    def read(path: Path | str, keys: dict[str, str]) -> list[str]:
        return rows(spark.read.format("pme-parquet").options(**keys).load(str(path)))

    assert read(target, static("new")) == read(source, static("old"))
    with refused("PME_KEY_NOT_FOUND", "'new'"):
        read(target, static("old"))


def test_nothing_of_a_protected_column_is_readable(spark: SparkSession, tmp_path: Path, target: str) -> None:
    source = tmp_path / "plain"
    people(spark).write.option("parquet.bloom.filter.enabled#name", "true").parquet(str(source))
    enc = pme.Encryption(
        kms=TEST_KMS,
        footer_key="footer",
        column_keys={"pii": ["name", "ssn", "address", "tags", "scores"]},
        unlisted_columns="plaintext",
        plaintext_footer=True,
    )
    copy(spark, source, target, enc, plaintextFiles="allow")
    protected = ["name-", "ssn-", "street-", "tag-"]
    assert {find.canary for find in find_canaries(source, protected)} == set(protected)
    assert find_canaries(target, protected) == []
    assert rows(load(spark, target)) == rows(people(spark))


def test_a_column_that_only_some_files_have_gets_its_key(spark: SparkSession, tmp_path: Path, target: str) -> None:
    source = save(people(spark).drop("ssn"), tmp_path / "source")
    without = {path.name for path in data_files(source)}
    people(spark, 20).write.format("pme-parquet").options(**OLD).mode("append").save(str(source))
    with_ssn = {path.name for path in data_files(source)} - without
    enc = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": "ssn"}, unlisted_columns="plaintext")
    copy(spark, source, target, enc)
    assert rows(load(spark, target, mergeSchema="true")) == rows(load(spark, source, mergeSchema="true"))
    assert find_canaries(target, ["ssn-"]) == []
    # A column that may be readable if the key's column exists is encrypted, like all others, if it does not exist.
    readable = {find.file for find in find_canaries(target, ["name-"])}
    assert {Path(file).name for file in readable} == with_ssn


@pytest.mark.parametrize("prefix", ["{path}", "{table}/{file}", "fixed"])
@pytest.mark.parametrize("stored", [True, False])
def test_a_prefix_names_the_place_of_the_copy(
    spark: SparkSession, tmp_path: Path, target: str, prefix: str, *, stored: bool
) -> None:
    source = save(people(spark), tmp_path / "source", "country")
    enc = pme.Encryption(kms=TEST_KMS, uniform_key="new", aad_prefix=prefix, store_aad_prefix=stored)
    copy(spark, source, target, enc)
    assert rows(load(spark, target, aadPrefix=prefix)) == rows(load(spark, source))
    Path(target).rename(tmp_path / "moved")
    if prefix != "fixed":
        with refused("PME_AAD_PREFIX" if stored else "PME_NOT_AUTHENTIC"):
            rows(load(spark, tmp_path / "moved", aadPrefix=prefix))


def test_a_source_with_a_prefix_is_read_with_it(spark: SparkSession, tmp_path: Path, target: str) -> None:
    source = save(people(spark), tmp_path / "source", aadPrefix="{path}", storeAadPrefix="false")
    with refused("PME_AAD_PREFIX"):
        copy(spark, source, target, NEW)
    copy(spark, source, target, NEW, aadPrefix="{path}")
    assert rows(load(spark, target)) == rows(people(spark))


REFUSALS: dict[str, tuple[str, Callable[[], pme.Encryption], dict[str, str], tuple[str, ...]]] = {
    "a column that is in no file": (
        "PME_UNKNOWN_COLUMN",
        lambda: pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": ["ssn", "snn"]}),
        {},
        ("'snn'", "salary"),
    ),
    "a partition column": (
        "PME_UNSUPPORTED",
        lambda: pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": ["c*"]}),
        {},
        ("'country'",),
    ),
    "a column without key": (
        "PME_UNKNOWN_COLUMN",
        lambda: pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": "ssn"}, unlisted_columns="error"),
        {},
        ("salary",),
    ),
    "no key": ("PME_NO_KEY", lambda: pme.Encryption(kms=TEST_KMS), {}, ()),
    "an unknown option": ("PME_UNKNOWN_OPTION", lambda: NEW, {"footrKey": "x"}, ("footerKey",)),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_work_is_refused_before_anything_is_written(
    spark: SparkSession, tmp_path: Path, target: str, case: str
) -> None:
    condition, enc, options, mentions = REFUSALS[case]
    source = save(people(spark), tmp_path / "source", "country")
    with refused(condition, *mentions):
        copy(spark, source, target, enc(), **options)
    assert left(tmp_path) == ["source"]


def test_a_target_that_holds_something_is_left_alone(
    spark: SparkSession, source: Path, target: str, tmp_path: Path
) -> None:
    copy(spark, source, target, NEW)
    before = snapshot(tmp_path)
    file = data_files(target)[0]
    for place in (target, str(source), str(source / "below"), str(file)):
        with refused("PME_BAD_OPTION", place):
            copy(spark, source, place, NEW)
    assert snapshot(tmp_path) == before


def test_an_empty_directory_is_filled(spark: SparkSession, source: Path, target: str) -> None:
    Path(target).mkdir()
    copy(spark, source, target, NEW)
    assert rows(load(spark, target)) == rows(people(spark))


@pytest.mark.parametrize("broken", [0, 1])
def test_one_bad_file_prevents_the_copy(
    spark: SparkSession, source: Path, target: str, tmp_path: Path, broken: int
) -> None:
    bend.flip_in_module(data_files(source)[broken], 3)
    with refused("PME_NOT_AUTHENTIC", data_files(source)[broken].name):
        copy(spark, source, target, NEW)
    wait_until_alone(spark)
    assert left(tmp_path) == ["source"]


def test_over_spark_connect_it_says_why_it_cannot_run() -> None:
    with refused("PME_UNSUPPORTED", "Spark Connect", "classic session"):
        pme.rekey(object(), "source", "target", NEW)  # type: ignore[arg-type] # what has no JVM
