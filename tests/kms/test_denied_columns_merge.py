"""`deniedColumns`: `MERGE`, `UPDATE` and `DELETE` that look at a refused column fail, and change nothing.

Their target is a table of a catalog of the tests, which is changed row by row or rewritten, as tables of Iceberg or
Delta are. Only what they read besides it can be masked.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests.support import java
from tests.support.expect import refused
from tests.support.kms.denied import REFUSED, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

pytestmark = pytest.mark.rows(2)

CATALOG = "row_level"
BEFORE = [(3, "ssn-3"), (7, "ssn-8"), (99, None)]
MERGE = "MERGE INTO {target} t USING {seen} s ON "

LOOKING = {
    "ON": MERGE + "t.ssn = s.ssn WHEN MATCHED THEN DELETE",
    "ON, for rows that do not match": MERGE + "t.ssn = s.ssn WHEN NOT MATCHED THEN INSERT (id, ssn) VALUES (s.id, 'a')",
    "ON, among others": MERGE + "t.id = s.id AND t.ssn <> s.ssn WHEN MATCHED THEN UPDATE SET ssn = 'a'",
    "ON, for rows of the target": MERGE + "t.ssn = s.ssn WHEN NOT MATCHED BY SOURCE THEN DELETE",
    "WHEN MATCHED": MERGE + "t.id = s.id WHEN MATCHED AND s.ssn IS NULL THEN DELETE",
    "WHEN MATCHED, of a part": MERGE + "t.id = s.id WHEN MATCHED AND s.address.street IS NULL THEN DELETE",
    "WHEN MATCHED, the second": MERGE
    + "t.id = s.id WHEN MATCHED AND t.id = 7 THEN DELETE WHEN MATCHED AND s.ssn <> t.ssn THEN UPDATE SET ssn = 'a'",
    "WHEN NOT MATCHED": MERGE
    + "t.id = s.id WHEN NOT MATCHED AND s.ssn IS NULL THEN INSERT (id, ssn) VALUES (s.id, 'a')",
    "WHEN NOT MATCHED, beside another": MERGE
    + "t.id = s.id WHEN MATCHED THEN DELETE "
    + "WHEN NOT MATCHED AND s.ssn IS NULL THEN INSERT (id, ssn) VALUES (s.id, 'a')",
    "USING": "MERGE INTO {target} t USING (SELECT id FROM {seen} WHERE ssn IS NULL) s ON t.id = s.id "
    "WHEN MATCHED THEN DELETE",
    "USING, computed": "MERGE INTO {target} t USING (SELECT id, upper(ssn) AS u FROM {seen}) s ON t.id = s.id "
    "WHEN MATCHED AND s.u IS NULL THEN DELETE",
    "UPDATE, IN": "UPDATE {target} SET ssn = 'a' WHERE ssn IN (SELECT ssn FROM {seen})",
    "UPDATE, NOT IN": "UPDATE {target} SET ssn = 'a' WHERE ssn NOT IN (SELECT ssn FROM {seen})",
    "UPDATE, scalar": "UPDATE {target} SET ssn = 'a' WHERE ssn <=> (SELECT max(ssn) FROM {seen})",
    "DELETE, IN": "DELETE FROM {target} WHERE ssn IN (SELECT ssn FROM {seen})",
    "DELETE, NOT EXISTS": "DELETE FROM {target} t WHERE NOT EXISTS (SELECT 1 FROM {seen} s WHERE s.ssn = t.ssn)",
    "DELETE, in the subquery": "DELETE FROM {target} WHERE id IN (SELECT id FROM {seen} WHERE ssn IS NULL)",
}

# With what each leaves.
OTHERS = {
    "values of a masked column": (
        MERGE + "t.id = s.id AND s.id < 9 WHEN MATCHED AND s.salary > 6 THEN UPDATE SET ssn = s.ssn "
        "WHEN NOT MATCHED AND s.id = 5 THEN INSERT (id, ssn) VALUES (s.id, s.ssn)",
        [(3, "ssn-3"), (5, None), (7, None), (99, None)],
    ),
    "another part of it": (
        MERGE + "t.id = s.id WHEN MATCHED AND s.city = 'city-1' THEN DELETE "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET ssn = 'b'",
        [(3, "ssn-3"), (99, "b")],
    ),
    "UPDATE": (
        "UPDATE {target} SET ssn = 'a' WHERE id IN (SELECT id FROM {seen} WHERE salary > 6)",
        [(3, "ssn-3"), (7, "a"), (99, None)],
    ),
    "DELETE": (
        "DELETE FROM {target} t WHERE NOT EXISTS (SELECT 1 FROM {seen} s WHERE s.id = t.id)",
        [(3, "ssn-3"), (7, "ssn-8")],
    ),
}

every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])


@pytest.fixture(params=["rows", "groups"])
def target(
    spark: SparkSession, conf: Conf, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[str]:
    """Return a table that is changed row by row, and one that is rewritten, with the rows of ``BEFORE``."""
    java.load(spark, tmp_path_factory, Path(__file__).with_name("RowLevelCatalog.java"))
    with conf({f"spark.sql.catalog.{CATALOG}": "kms.RowLevelCatalog"}):
        name = f"{CATALOG}.{request.param}_{uuid4().hex}"
        spark.sql(f"INSERT INTO {name} VALUES (3, 'ssn-3'), (7, 'ssn-8'), (99, NULL)")
        yield name


def run(spark: SparkSession, statement: str, target: str, table: str, **options: str) -> None:
    """Run a statement whose source is the table as somebody reads it to whom `pii` is refused."""
    frame = read(spark, table, REFUSED, **options)
    frame.selectExpr("id", "ssn", "salary", "address", "address.city AS city").createOrReplaceTempView("merged_from")
    try:
        spark.sql(statement.format(target=target, seen="merged_from"))
    finally:
        spark.catalog.dropTempView("merged_from")


def rows(spark: SparkSession, target: str) -> list[tuple[int, str | None]]:
    return sorted((row.id, row.ssn) for row in spark.table(target).collect())


@every_scan
@pytest.mark.parametrize("statement", LOOKING.values(), ids=LOOKING)
def test_a_change_that_looks_at_a_refused_column_is_refused(
    spark: SparkSession, guarded_table: str, target: str, statement: str, scan: str
) -> None:
    with refused("PME_KEY_DENIED", f"'{REFUSED}'", "condition", "deniedPredicates=null"):
        run(spark, statement, target, guarded_table, scan=scan)
    assert rows(spark, target) == BEFORE


@every_scan
@pytest.mark.parametrize(("statement", "after"), OTHERS.values(), ids=OTHERS)
def test_a_change_that_does_not_look_at_it_is_made(
    spark: SparkSession,
    guarded_table: str,
    target: str,
    statement: str,
    after: list[tuple[int, str | None]],
    scan: str,
) -> None:
    run(spark, statement, target, guarded_table, scan=scan)
    assert rows(spark, target) == after


def test_a_change_sees_nulls_where_conditions_may(spark: SparkSession, guarded_table: str, target: str) -> None:
    run(spark, LOOKING["WHEN MATCHED"], target, guarded_table, deniedPredicates="null")
    assert rows(spark, target) == [(99, None)]
