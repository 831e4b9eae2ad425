"""The encrypted files of apache/parquet-testing, by Arrow C++ and parquet-java, are read completely or refused."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.support.expect import refused
from tests.support.interop.samples import Table, arrow_table, spark_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, SparkSession

DATA = Path(__file__).resolve().parents[1] / "data" / "parquet-testing"
MANIFEST = json.loads((DATA / "MANIFEST.json").read_text())
CTR = "AES_GCM_CTR_V1"

# Spark has no type for INT32 TIME(MILLIS): these files need a schema, as their twins do in Spark's own source.
TIME_SCHEMA = (
    "boolean_field boolean, int32_field int, int64_field array<bigint>, int96_field timestamp, float_field float, "
    "double_field double, ba_field binary, flba_field binary"
)
NANOS_PER_MICRO = 1000
MICROS_PER_DAY = 86_400_000_000
JULIAN_DAY_OF_EPOCH = 2_440_588


class Sample(NamedTuple):
    """One file and its entry in the manifest."""

    facts: dict[str, Any]

    @property
    def path(self) -> Path:
        return DATA / str(self.facts["file"])

    @property
    def keys(self) -> dict[str, str]:
        named: dict[str, str] = MANIFEST["keys_256" if self.path.parent.name == "aes256" else "keys_128"]
        return named

    @property
    def column_keys(self) -> dict[str, str]:
        return {column: key for column, key in self.facts["columns"].items() if key not in (None, "kf")}


Static = Callable[[dict[str, str]], dict[str, str]]
SAMPLES = [Sample(facts) for facts in MANIFEST["files"]]


def name(sample: Sample) -> str:
    return str(sample.facts["file"]).removesuffix(".parquet.encrypted")


def some(wanted: Callable[[Sample], object]) -> list[Any]:
    chosen = [pytest.param(sample, id=name(sample)) for sample in SAMPLES if wanted(sample)]
    assert chosen, "the manifest holds no such file"
    return chosen


def without_prefix(sample: Sample) -> bool:
    return not (sample.facts["aad_prefix_needed"] or sample.facts["stored_aad_prefix"])


@pytest.fixture
def static(tmp_path: Path) -> Static:
    """Return a function that makes options of ``kms=static`` from key names and hexadecimal keys."""

    def options(keys: dict[str, str]) -> dict[str, str]:
        lines = [f"{key}={base64.b64encode(bytes.fromhex(value)).decode()}" for key, value in keys.items()]
        listed = tmp_path / "keys"
        listed.write_text("\n".join(lines))
        # Arrow's files name data keys directly.
        return pme.Static(pme.file(str(listed))).options() | {"keyManagement": "direct"}

    return options


def needed(sample: Sample) -> dict[str, str]:
    """Return the options without which a reader that checks everything refuses the file."""
    options = {}
    if sample.facts["algorithm"] == CTR:
        options["algorithm"] = CTR
    if sample.facts["aad_prefix_needed"]:
        options["aadPrefix"] = sample.facts["aad_prefix_needed"]
    if sample.facts["v2_pages"]:
        options["clearLevels"] = "allow"
    return options


def read(spark: SparkSession, sample: Sample, options: dict[str, str]) -> DataFrame:
    reader = spark.read.format("pme-parquet").options(**options)
    if "int32_field" in sample.facts["columns"] and "name" not in sample.facts["columns"]:
        reader = reader.schema(TIME_SCHEMA)
    return reader.load(str(sample.path))


def comparable(frame: DataFrame) -> Table:
    """Return the rows, with INT96 as microseconds: their days lie before the first year of Python's dates."""
    columns = [f"unix_micros({field}) as {field}" if field == "int96_field" else field for field in frame.columns]
    return spark_table(frame.selectExpr(*columns), by="double_field")


def expected(sample: Sample) -> Table:
    """Return the twin as PyArrow reads it, with INT32 TIME as a number and INT96 from its three words."""
    table = pq.read_table(DATA / sample.facts["plaintext_twin"])
    time, int96 = "int32_field", "int96_field"
    if int96 in table.column_names:
        table = table.set_column(table.column_names.index(time), time, table[time].cast("int32"))
        micros = [
            (i + 2 - JULIAN_DAY_OF_EPOCH) * MICROS_PER_DAY + (i + ((i + 1) << 32)) // NANOS_PER_MICRO
            for i in range(table.num_rows)
        ]
        table = table.set_column(table.column_names.index(int96), int96, [micros])
    return arrow_table(table, by="double_field")


@pytest.fixture(autouse=True)
def _int96_as_written(conf: Callable[..., AbstractContextManager[None]]) -> Iterator[None]:
    with conf({"spark.sql.parquet.int96RebaseModeInRead": "CORRECTED"}):
        yield


@pytest.mark.parametrize("sample", some(lambda _: True))
def test_every_cell_equals_the_plaintext_twin(spark: SparkSession, static: Static, sample: Sample) -> None:
    assert hashlib.sha256(sample.path.read_bytes()).hexdigest() == sample.facts["sha256"]
    rows = comparable(read(spark, sample, static(sample.keys) | needed(sample)))
    assert len(rows) == sample.facts["num_rows"]
    assert rows == expected(sample)


@pytest.mark.parametrize("sample", some(lambda sample: sample.facts["algorithm"] == CTR))
def test_a_ctr_file_is_refused_unless_asked_for(spark: SparkSession, static: Static, sample: Sample) -> None:
    with refused("PME_ALGORITHM", sample.path.name, "algorithm=AES_GCM_CTR_V1"):
        read(spark, sample, static(sample.keys)).collect()


@pytest.mark.parametrize("sample", some(lambda sample: sample.facts["aad_prefix_needed"]))
def test_a_file_without_its_aad_prefix_is_refused(spark: SparkSession, static: Static, sample: Sample) -> None:
    with refused("PME_AAD_PREFIX", sample.path.name, "aadPrefix"):
        read(spark, sample, static(sample.keys)).collect()


@pytest.mark.parametrize("sample", some(lambda sample: sample.facts["aad_prefix_needed"]))
def test_a_file_opens_under_no_other_aad_prefix(spark: SparkSession, static: Static, sample: Sample) -> None:
    with refused("PME_NOT_AUTHENTIC", sample.path.name, "aadPrefix"):
        read(spark, sample, static(sample.keys) | needed(sample) | {"aadPrefix": "taster"}).collect()


@pytest.mark.parametrize("sample", some(lambda sample: sample.facts["stored_aad_prefix"]))
def test_a_stored_prefix_must_be_the_expected_one(spark: SparkSession, static: Static, sample: Sample) -> None:
    right = sample.facts["stored_aad_prefix"]
    assert read(spark, sample, static(sample.keys) | {"aadPrefix": right}).count() == sample.facts["num_rows"]
    with refused("PME_AAD_PREFIX", sample.path.name):
        read(spark, sample, static(sample.keys) | {"aadPrefix": right + "s"}).collect()


@pytest.mark.parametrize("sample", some(without_prefix))
def test_a_prefix_expected_of_a_file_without_one_is_refused(
    spark: SparkSession, static: Static, sample: Sample
) -> None:
    with refused("PME_AAD_PREFIX", sample.path.name):
        read(spark, sample, static(sample.keys) | needed(sample) | {"aadPrefix": "tester"}).collect()


@pytest.mark.parametrize("sample", some(lambda sample: sample.column_keys))
def test_a_missing_column_key_is_named_and_the_other_columns_are_read(
    spark: SparkSession, static: Static, sample: Sample
) -> None:
    column, key = min(sample.column_keys.items())
    options = static({other: value for other, value in sample.keys.items() if other != key}) | needed(sample)
    frame = read(spark, sample, options)
    with refused("PME_KEY_NOT_FOUND", sample.path.name, f"'{key}'"):
        frame.collect()
    lost = column.split(".")[0]
    rest = [{other: value for other, value in row.items() if other != lost} for row in expected(sample)]
    assert comparable(frame.drop(lost)) == rest


@pytest.mark.parametrize("sample", some(lambda _: True))
def test_another_footer_key_of_the_same_name_does_not_open_the_file(
    spark: SparkSession, static: Static, sample: Sample
) -> None:
    with refused("PME_NOT_AUTHENTIC", sample.path.name):
        read(spark, sample, static(sample.keys | {"kf": sample.keys["kc1"]}) | needed(sample)).collect()
