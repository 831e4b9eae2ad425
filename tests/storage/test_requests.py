"""How often reads and writes ask S3, beside Spark's own Parquet source on the same rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.storage.place import EXTERNAL, FORMAT, READING, UNIFORM, InBucket
from tests.support import needs
from tests.support.session import SPARK_VERSION, TEST_KMS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.storage.s3 import Request

COLUMNS = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": ["s"], "pay": ["seven"]})
pytestmark = needs.s3a

# A write looks once whether the table has a seal, which it would break.
SEALED = Counter(LIST=1)
FILES = 6
# Under `make test-all` only. They are made on the local disk, and put into the store as they are. The oldest Spark
# takes a thousand, others fewer, which show the same in a fifth of the time.
MANY = 1_000 if SPARK_VERSION < (4, 0) else 200
WRITTEN = MANY if needs.ALL else FILES


def consume(frame: DataFrame) -> None:
    """Read all rows, without bringing them to Python."""
    frame.write.format("noop").mode("overwrite").save()


QUERIES: dict[str, Callable[[DataFrame], object]] = {
    "scan": consume,
    "projection": lambda frame: consume(frame.select("seven")),
    "point": lambda frame: frame.where("id = 1234").collect(),
}


def requested(place: InBucket, act: Callable[[], object]) -> list[Request]:
    with place.store.counted() as requests:
        act()
    return [one for one in requests if one.key.startswith(place.name)]


def asked(place: InBucket, act: Callable[[], object]) -> Counter[str]:
    return Counter(one.operation for one in requested(place, act))


def of_data(requests: list[Request]) -> Counter[str]:
    """Count the requests for data files only."""
    return Counter(one.operation for one in requests if one.key.endswith(".parquet"))


def by_task(place: InBucket, act: Callable[[], object]) -> Counter[str]:
    """Return the requests of a write, without those for the directory of all attempts.

    S3A marks this directory again where it finds it empty. Tasks that end at the same time do so twice.
    """
    with place.store.counted() as requests:
        act()
    of_write = (one for one in requests if one.key.startswith(place.name))
    return Counter(one.operation for one in of_write if not one.key.rstrip("/").endswith("/_temporary"))


@pytest.fixture
def both(spark: SparkSession, place: InBucket) -> dict[str, InBucket]:
    return {"parquet": place.beside("theirs"), FORMAT: place.beside("ours")}


def write(frame: DataFrame, format: str, place: InBucket, enc: pme.Encryption = UNIFORM) -> None:  # noqa: A002 as Spark calls it
    frame.write.format(format).options(**(enc.options() if format == FORMAT else {})).save(place.path)


def load(spark: SparkSession, format: str, place: InBucket, **options: str) -> DataFrame:  # noqa: A002 as above
    return spark.read.format(format).options(**(READING if format == FORMAT else {}), **options).load(place.path)


@pytest.mark.parametrize(("scan", "enc"), [("v1", UNIFORM), ("v2", UNIFORM), ("v1", COLUMNS)])
def test_a_query_of_a_file_asks_no_more_than_sparks_own(
    spark: SparkSession, both: dict[str, InBucket], scan: str, enc: pme.Encryption
) -> None:
    frame = spark.range(0, 100_000, 1, 1).selectExpr("id", "id % 7 AS seven", "uuid() AS u", "md5(string(id)) AS s")
    writes = {name: asked(place, lambda: write(frame, name, place, enc)) for name, place in both.items()}  # noqa: B023 called at once
    assert writes[FORMAT] == writes["parquet"] + SEALED
    frames = {name: load(spark, name, place) for name, place in both.items()}
    frames[FORMAT] = load(spark, FORMAT, both[FORMAT], scan=scan)
    for what, query in QUERIES.items():
        theirs = of_data(requested(both["parquet"], lambda: query(frames["parquet"])))  # noqa: B023 called at once
        every = requested(both[FORMAT], lambda: query(frames[FORMAT]))  # noqa: B023 called at once
        ours = of_data(every)
        assert ours["HEAD"] <= theirs["HEAD"], (what, ours, theirs)
        assert ours["GET"] <= theirs["GET"], (what, ours, theirs)
        assert ours.total() <= theirs.total(), (what, ours, theirs)
        # Next to the data, whether the table has snapshots.
        assert [one.operation for one in every].count("LIST") <= 1, (what, every)


@pytest.mark.nightly
def test_a_write_of_many_files_asks_once_more_than_sparks_own(spark: SparkSession, both: dict[str, InBucket]) -> None:
    frame = spark.range(0, 10 * WRITTEN, 1, WRITTEN).selectExpr("id", "id % 7 AS seven", "string(id) AS s")
    counted = {name: by_task(place, lambda: write(frame, name, place, COLUMNS)) for name, place in both.items()}  # noqa: B023 called at once
    assert counted["parquet"]["PUT"] >= WRITTEN
    # Spark's own source also lists the empty target, and each task's directory.
    assert counted[FORMAT] - counted["parquet"] <= SEALED


def test_an_append_looks_once_for_a_seal_and_once_for_partitions(
    spark: SparkSession, both: dict[str, InBucket]
) -> None:
    frame = spark.range(0, 10, 1, 1).toDF("id")
    for name, place in both.items():
        write(frame, name, place)

    def append(name: str, place: InBucket) -> None:
        options = UNIFORM.options() if name == FORMAT else {}
        frame.write.format(name).options(**options).mode("append").save(place.path)

    counted = {name: by_task(place, lambda: append(name, place)) for name, place in both.items()}  # noqa: B023 called at once
    assert counted[FORMAT] == counted["parquet"] + SEALED + Counter(LIST=1)


@pytest.mark.nightly
def test_key_material_in_a_file_of_its_own_costs_a_head_and_a_get(
    spark: SparkSession, both: dict[str, InBucket]
) -> None:
    frame = spark.range(0, 10 * FILES, 1, FILES).selectExpr("id", "id % 7 AS seven")
    inside, beside = both.values()
    write(frame, FORMAT, inside)
    write(frame, FORMAT, beside, EXTERNAL)
    internal, external = (asked(place, load(spark, FORMAT, place).collect) for place in (inside, beside))
    more = {name: external[name] - internal[name] for name in external}
    # The schema's footer and its material are known already.
    assert (more["HEAD"], more["GET"], more["LIST"]) == (FILES - 1, FILES - 1, 0), (internal, external)


@pytest.mark.nightly
def test_many_small_files_cost_one_head_and_one_get_each(spark: SparkSession, both: dict[str, InBucket]) -> None:
    frame = spark.range(0, 10 * FILES, 1, FILES).selectExpr("id", "id % 7 AS seven")
    for name, place in both.items():
        write(frame, name, place)
    frames = {name: load(spark, name, place) for name, place in both.items()}
    counted = {name: of_data(requested(place, frames[name].collect)) for name, place in both.items()}
    # The schema's footer may be known already.
    assert counted[FORMAT]["HEAD"] == FILES
    assert FILES - 1 <= counted[FORMAT]["GET"] <= FILES
    assert counted[FORMAT].total() <= counted["parquet"].total(), counted


@needs.test_all
def test_hundreds_of_small_files_cost_no_more_than_with_sparks_own(
    spark: SparkSession, both: dict[str, InBucket], tmp_path: Path
) -> None:
    frame = spark.range(0, 10 * MANY, 1, MANY).selectExpr("id", "id % 7 AS seven", "string(id) AS s")
    for name, place in both.items():
        options = UNIFORM.options() if name == FORMAT else {}
        frame.write.format(name).options(**options).save(str(tmp_path / name))
        place.store.files.put(f"{tmp_path / name}/", f"{place.bucket}/{place.name}/", recursive=True)
    theirs = load(spark, "parquet", both["parquet"])
    for scan in ("v1", "v2"):
        ours = load(spark, FORMAT, both[FORMAT], scan=scan)
        assert ours.count() == 10 * MANY
        for what, query in QUERIES.items():
            by_spark = asked(both["parquet"], lambda: query(theirs))  # noqa: B023 called at once
            by_us = asked(both[FORMAT], lambda: query(ours))  # noqa: B023 called at once
            assert by_us["HEAD"] <= by_spark["HEAD"] == MANY, (scan, what, by_us, by_spark)
            assert by_us["GET"] <= MANY < by_spark["GET"], (scan, what, by_us, by_spark)
            # Whether the table has snapshots.
            assert by_us["LIST"] <= 1, (scan, what, by_us, by_spark)


def test_loading_asks_once_more(spark: SparkSession, both: dict[str, InBucket]) -> None:
    frame = spark.range(0, 10, 1, 1).toDF("id")
    for name, place in both.items():
        write(frame, name, place)
    counted = {name: asked(place, lambda: load(spark, name, place)) for name, place in both.items()}  # noqa: B023 called at once
    # Whether the table has snapshots.
    assert counted[FORMAT].total() <= counted["parquet"].total() + 1, counted
