"""Random tables and random conditions: the same rows from our pipeline, from Spark's readers and from memory.

``PME_TEST_TABLES`` is how many tables there are (one seed each), ``PME_TEST_CONDITIONS`` how many conditions each is
asked.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.pages import predicates, tables
from tests.support.canary import data_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

FIRST = int(os.environ.get("PME_TEST_FIRST_TABLE", "0"))
TABLES = int(os.environ.get("PME_TEST_TABLES", "25"))
CONDITIONS = int(os.environ.get("PME_TEST_CONDITIONS", "12"))
PLACES = ["_metadata.file_name AS file", "_metadata.row_index AS row"]


def outcome(frame: DataFrame) -> Counter[str]:
    """Return the rows, each with how often it occurs; or that the query failed, and how."""
    try:
        return Counter(repr(row) for row in frame.collect())
    except Exception as error:  # noqa: BLE001 - compared with how the other readers fare
        return Counter([f"FAILED {cause(str(error))}"])


def cause(message: str) -> str:
    """Return the last cause that a message of Spark names, with the first places of its trace."""
    return " | ".join(message.rpartition("Caused by:")[2].splitlines()[:12])


def difference(found: Counter[str], expected: Counter[str]) -> str:
    """Return what is too much and too little, abbreviated."""
    more, less = list((found - expected).elements()), list((expected - found).elements())
    return f"{len(more)} rows too many {[row[:2000] for row in more[:2]]}, {len(less)} missing {less[:2]}"


# Old dates as they are: Spark 3.5 would not write them unasked.
SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
}


@pytest.mark.parametrize("seed", range(FIRST, FIRST + TABLES))
def test_conditions_let_the_same_rows_through(spark: SparkSession, conf: Conf, target: str, seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - the same in every run
    table = tables.sample(rng)
    memory = table.frame(spark)
    written = tables.write_options(rng, table)
    stored = rng.choice(("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"))
    with conf(SETTINGS | {"spark.sql.parquet.outputTimestampType": stored}):
        memory.write.format("pme-parquet").options(**written).save(target)
        keys = {name: written[name] for name in ("kms", "algorithm")}
        largest = max(file.stat().st_size for file in data_files(target))
        wrong = []
        for number in range(CONDITIONS):
            condition, selected = predicates.condition(rng, table), predicates.projection(rng, table)
            options, settings = tables.read_options(rng), tables.read_settings(rng, largest)
            places = PLACES if rng.random() < 0.25 and options["scan"] == "v1" else []
            with conf(settings):
                results = {}
                for reader in ("pages", "spark"):
                    source = spark.read.format("pme-parquet").options(**keys, **options, reader=reader).load(target)
                    results[reader] = outcome(source.where(condition).selectExpr(*selected, *places))
                plain = memory.where(condition).selectExpr(*selected)
                expected = outcome(plain)
                if places:
                    # Memory has no places: compared without them, in two steps.
                    same = results["pages"] == results["spark"]
                else:
                    same = results["pages"] == results["spark"] == expected
            if not same:
                wrong.append(
                    f"\ncondition {number}: {condition}\nselected: {selected + places}\n"
                    f"options: {options}\nsettings: {settings}\n"
                    f"pages against spark: {difference(results['pages'], results['spark'])}\n"
                    + ("" if places else f"spark against memory: {difference(results['spark'], expected)}")
                )
    assert not wrong, (
        f"seed {seed}, {len(table.rows)} rows of {table.ddl}, written with {written}, {stored}" + "\n".join(wrong)
    )
