"""A record that cannot be decoded fails as in Spark's own source: with place, block, file, and the cause."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.java_gateway import is_instance_of
from pyspark import SparkContext

from tests.support.interop import arrow_files
from tests.support.session import TEST_KMS
from tests.support.source import FORMAT, Pair, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.source import Conf

pytestmark = pytest.mark.rows(2)

ROWS = {"spark.sql.parquet.enableVectorizedReader": "false"}
DECODING = "org.apache.parquet.io.ParquetDecodingException"


def causes(error: BaseException) -> str:
    """Return the classes of a Java exception and its causes, with conditions, and the text about a record."""
    failed: Any = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    told = []
    while failed is not None:
        name = failed.getClass().getName()
        of_spark = is_instance_of(SparkContext._gateway, failed, "org.apache.spark.SparkThrowable")
        text = re.sub(r"file:\S+", "FILE", failed.getMessage()) if name == DECODING else ""
        told.append(f"{name} {failed.getErrorClass() if of_spark else ''} {text}")
        failed = failed.getCause()
    return "\n".join(told)


@pytest.fixture
def both(spark: SparkSession, tmp_path: Path) -> Pair:
    """Return places for the same rows, encrypted by PyArrow and in plaintext, for our source and for Spark's."""
    places = [tmp_path / "ours", tmp_path / "theirs"]
    for place in places:
        place.mkdir()
    ours = Source(spark, FORMAT, str(places[0]), {}, {"kms": TEST_KMS, "reader": "pages"})
    return Pair(ours, Source(spark, "parquet", str(places[1])))


def write(both: Pair, rows: pa.Table, **settings: Any) -> None:
    """Write a table to both places, in row groups of two."""
    arrow_files.write(rows, Path(both.ours.path) / "a.parquet", row_group_size=2, **settings)
    pq.write_table(rows, Path(both.theirs.path) / "a.parquet", row_group_size=2, **settings)


@pytest.mark.parametrize("scan", ["v1", "v2"])
@pytest.mark.parametrize(
    ("schema", "wrapped"),
    [
        ("n int", "at 2 in block 0"),
        ("s struct<n: int>", "at 2 in block 0"),
        ("t bigint", "at 1 in block 0"),
        ("n string", "at 0 in block -1"),
        ("n timestamp", ""),
    ],
)
def test_another_type_than_the_file_s_fails_as_in_spark_s_source(
    both: Pair, conf: Conf, schema: str, wrapped: str, scan: str
) -> None:
    numbers = [None, 1, 2, 3, 4]
    write(both, pa.table({"n": numbers, "t": list("abcde"), "s": [{"n": n} for n in numbers]}))
    v2 = {"spark.sql.sources.useV1SourceList": ""} if scan == "v2" else {}

    def job(source: Source) -> object:
        options = {"scan": scan} if source.format == FORMAT else {}
        return source.reader(**options).schema(schema).load(source.path).collect()

    with conf({**ROWS, **v2}):
        ours, theirs = both.outcomes(job, causes)
    assert ours == theirs
    if wrapped:
        assert f"{DECODING}  Can not read value {wrapped} in file FILE" in ours


@pytest.mark.parametrize("int96", [True, False])
def test_an_old_date_fails_as_in_spark_s_source(both: Pair, conf: Conf, *, int96: bool) -> None:
    moments = [dt.datetime(year, 1, 1) for year in (2020, 2021, 2022, 1200)]  # noqa: DTZ001
    write(both, pa.table({"t": pa.array(moments, pa.timestamp("us", tz="UTC"))}), use_deprecated_int96_timestamps=int96)
    names = ("spark.sql.parquet.datetimeRebaseModeInRead", "spark.sql.parquet.int96RebaseModeInRead")
    with conf({**ROWS, **dict.fromkeys(names, "EXCEPTION")}):
        ours, theirs = both.outcomes(lambda source: source.read().collect(), causes)
    assert ours == theirs
    assert "INCONSISTENT_BEHAVIOR_CROSS_VERSION" in ours


def test_our_own_failures_keep_their_condition(both: Pair, conf: Conf) -> None:
    write(both, pa.table({"n": [1, 2, 3]}), compression="none", use_dictionary=False)
    file = Path(both.ours.path) / "a.parquet"
    data = bytearray(file.read_bytes())
    header = int.from_bytes(data[4:8], "little")
    data[4 + 4 + header + 30] ^= 1
    file.write_bytes(data)
    with conf(ROWS):
        assert both.outcomes(lambda source: source.read().collect())[0] == "PME_NOT_AUTHENTIC"
