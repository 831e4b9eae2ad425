"""Random tables and random conditions: our pipeline and Spark's give exactly the rows that pass in memory.

A case is one filtered read. ``PME_TEST_TABLES`` is the number of tables (one seed each, from
``PME_TEST_FIRST_TABLE`` on), ``PME_TEST_CONDITIONS`` the number of conditions for each. Each Spark has other tables.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.generated import cases, tables
from tests.support import needs
from tests.support.canary import data_files
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

pytestmark = pytest.mark.rows(1)

# `make test` takes the first of these, with half of the conditions.
TABLES = int(os.environ.get("PME_TEST_TABLES", "40"))
FIRST = int(os.environ.get("PME_TEST_FIRST_TABLE", TABLES * cases.SPARK))
CONDITIONS = int(os.environ.get("PME_TEST_CONDITIONS", "40" if needs.ALL else "20"))
THREADS = 4
FILTER_FIRST = "io.pmeparquet.test.filterFirst"

# Old dates as they are: Spark 3.5 would refuse to write them otherwise. Interpreting a query of all conditions of a
# table takes a tenth of the time that compiling it would.
SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(THREADS) as threads:
        yield threads


@pytest.fixture
def filter_first(spark: SparkSession, seed: int) -> Iterator[None]:
    """For half of the tables, try every filter before reading other columns: otherwise they are too small for it."""
    assert spark._jvm is not None
    spark._jvm.java.lang.System.setProperty(FILTER_FIRST, str(seed % 2 == 1).lower())
    yield
    spark._jvm.java.lang.System.clearProperty(FILTER_FIRST)


@pytest.mark.usefixtures("filter_first")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + TABLES))
def test_conditions_let_the_same_rows_through(
    spark: SparkSession, conf: Conf, target: str, pool: ThreadPoolExecutor, seed: int
) -> None:
    rng = Random(seed)  # noqa: S311 - the same in every run
    table = tables.sample(rng)
    memory = table.frame(spark)
    written = tables.write_options(rng, table)
    stored = rng.choice(("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"))
    asked = cases.draw(rng, table, CONDITIONS)
    with conf(SETTINGS | {"spark.sql.parquet.outputTimestampType": stored}):
        if (4, 0) <= SPARK_VERSION < (4, 2):
            # These versions lose the collation of what they need twice, or compare in a CASE, and refuse the condition.
            asked = [one for one in asked if cases.is_understood(memory, one)]
            assert len(asked) > CONDITIONS / 2
        memory.write.format("pme-parquet").options(**written).save(target)
        expected = cases.expected(memory, asked)
    largest = max(file.stat().st_size for file in data_files(target))
    signed_zeros = cases.negative_zero(table.rows)
    keys = {name: written[name] for name in ("kms", "algorithm")}

    def wrong(number: int) -> list[str]:
        # A new session, so that each thread has its own settings.
        session = spark.newSession()
        settings = tables.read_settings(Random(f"{seed}/{number}"), largest)  # noqa: S311
        for name, value in settings.items():
            session.conf.set(name, value)
        source = cases.Files(session, target, memory.schema, keys, settings, signed_zeros)
        return [
            text
            for one, rows in list(zip(asked, expected, strict=True))[number::THREADS]
            for text in source.differences(one, rows)
        ]

    found = [text for texts in pool.map(wrong, range(THREADS)) for text in texts]
    assert not found, (
        f"seed {seed}, {len(table.rows)} rows of {table.ddl}\nwritten with {written}, {stored}\n" + "\n".join(found)
    )
