"""How often reads and writes call the name node, beside Spark's own Parquet source on the same rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.storage.place import FORMAT, READING, UNIFORM
from tests.support import needs
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.storage.hdfs.place import InHdfs
    from tests.support.storage.hdfs import Hdfs

pytestmark = pytest.mark.nightly

# A write looks once whether the table has a seal, which it would break.
SEALED = Counter(GetListing=1)
FILES = 12
# Under `make test-all` only. They are made on the local disk, and put into HDFS as they are. The oldest Spark
# takes a thousand, others fewer, which show the same in a fifth of the time.
MANY = 1_000 if SPARK_VERSION < (4, 0) else 200
QUERIES: dict[str, Callable[[DataFrame], object]] = {
    "scan": lambda frame: frame.collect(),
    "projection": lambda frame: frame.select("seven").collect(),
    "point": lambda frame: frame.where("id = 1234").collect(),
}


def asked(hdfs: Hdfs, act: Callable[[], object]) -> Counter[str]:
    with hdfs.counted() as calls:
        act()
    return calls


@pytest.fixture
def both(place: InHdfs) -> dict[str, InHdfs]:
    return {"parquet": place.beside("theirs"), FORMAT: place.beside("ours")}


def write(frame: DataFrame, format: str, path: str) -> None:  # noqa: A002 as Spark calls it
    frame.write.format(format).options(**(UNIFORM.options() if format == FORMAT else {})).save(path)


def load(spark: SparkSession, format: str, place: InHdfs, **options: str) -> DataFrame:  # noqa: A002 as above
    return spark.read.format(format).options(**(READING if format == FORMAT else {}), **options).load(place.path)


def test_a_query_of_a_file_calls_no_more_than_sparks_own(
    spark: SparkSession, hdfs: Hdfs, both: dict[str, InHdfs]
) -> None:
    frame = spark.range(0, 100_000, 1, 1).selectExpr("id", "id % 7 AS seven", "uuid() AS u", "md5(string(id)) AS s")
    writes = {name: asked(hdfs, lambda: write(frame, name, place.path)) for name, place in both.items()}  # noqa: B023 called at once
    assert writes[FORMAT] == writes["parquet"] + SEALED
    for scan in ("v1", "v2"):
        compare(spark, hdfs, both, scan)


def test_small_files_cost_no_more_than_with_sparks_own(
    spark: SparkSession, hdfs: Hdfs, both: dict[str, InHdfs]
) -> None:
    frame = spark.range(0, 10 * FILES, 1, FILES).selectExpr("id", "id % 7 AS seven")
    writes = {name: asked(hdfs, lambda: write(frame, name, place.path)) for name, place in both.items()}  # noqa: B023 called at once
    assert writes[FORMAT] == writes["parquet"] + SEALED
    compare(spark, hdfs, both)


@needs.test_all
def test_hundreds_of_small_files_cost_no_more_than_with_sparks_own(
    spark: SparkSession, hdfs: Hdfs, both: dict[str, InHdfs], tmp_path: Path
) -> None:
    frame = spark.range(0, 10 * MANY, 1, MANY).selectExpr("id", "id % 7 AS seven")
    for name, place in both.items():
        write(frame, name, str(tmp_path / name))
        place.files.put(tmp_path / name, place.where)
    for scan in ("v1", "v2"):
        compare(spark, hdfs, both, scan)


def compare(spark: SparkSession, hdfs: Hdfs, both: dict[str, InHdfs], scan: str = "auto") -> None:
    """Fail if we call the name node more often than Spark's own source, but for a look for snapshots."""
    loads = {name: asked(hdfs, lambda: load(spark, name, place)) for name, place in both.items()}  # noqa: B023 called at once
    # Whether the table has snapshots: its directory, and what is in it.
    assert loads[FORMAT].total() <= loads["parquet"].total() + 2, loads
    theirs = load(spark, "parquet", both["parquet"])
    ours = load(spark, FORMAT, both[FORMAT], scan=scan)
    for what, query in QUERIES.items():
        by_spark = asked(hdfs, lambda: query(theirs))  # noqa: B023 called at once
        by_us = asked(hdfs, lambda: query(ours))  # noqa: B023 called at once
        assert by_us["GetFileInfo"] <= by_spark["GetFileInfo"], (scan, what, by_us, by_spark)
        assert by_us["GetBlockLocations"] <= by_spark["GetBlockLocations"], (scan, what, by_us, by_spark)
        assert by_us.keys() <= {"GetFileInfo", "GetBlockLocations", "GetListing"}, (scan, what, by_us, by_spark)
        assert by_us["GetListing"] <= 1, (scan, what, by_us, by_spark)
