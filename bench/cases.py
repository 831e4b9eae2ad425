"""The cases of the benchmark. A case is a process: its steps share one JVM, and only the first can be cold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bench.tables import CODECS, LINEITEM_COLUMNS, PAGE_KIB, files_name, pages_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.thresholds import Thresholds

SPARK = ("plain", "builtin-gcm", "builtin-ctr", "pme-spark", "pme")
WRITERS = ("plain", "builtin-gcm", "builtin-ctr", "pme")
SHORT = ("plain", "builtin-gcm", "pme-spark", "pme")
LINEITEM = (("lineitem", "lineitem"),)
OUTSIDERS = ("pyarrow-plain", "pyarrow", "duckdb-plain", "duckdb")
THREE_COLUMNS = ("l_orderkey", "l_extendedprice", "l_shipdate")

Temperature = Literal["cold", "warm"]

Q1 = """
SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
  sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_extendedprice), avg(l_discount),
  count(*)
FROM lineitem WHERE l_shipdate <= DATE'1998-12-01' - INTERVAL 90 DAYS
GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus
"""
Q6 = """
SELECT sum(l_extendedprice * l_discount) FROM lineitem
WHERE l_shipdate >= DATE'1994-01-01' AND l_shipdate < DATE'1995-01-01'
  AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24
"""
Q14 = """
SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
  / sum(l_extendedprice * (1 - l_discount))
FROM lineitem JOIN part ON l_partkey = p_partkey
WHERE l_shipdate >= DATE'1995-09-01' AND l_shipdate < DATE'1995-10-01'
"""


@dataclass(frozen=True)
class Query:
    """One step: SQL over views, each a table of the variant's copy. ``columns`` is the same in a form for outsiders.

    The sink ``columns`` takes the batches of the scan as they are, which no row-wise operator of Spark does.
    """

    name: str
    sql: str
    views: tuple[tuple[str, str], ...] = LINEITEM
    sink: Literal["noop", "columns", "collect", "write"] = "noop"
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """Queries that one process runs, and the variants it is run with."""

    name: str
    title: str
    queries: tuple[Query, ...]
    variants: tuple[str, ...] = SPARK
    temperatures: tuple[Temperature, ...] = ("cold", "warm")
    long: bool = True

    def tables(self) -> set[str]:
        """Return the names of the required tables."""
        return {table for query in self.queries if query.sink != "write" for _, table in query.views}


def cases(thresholds: Thresholds, files: Sequence[int]) -> dict[str, Case]:
    """Return every case, in the order of the report; ``files`` are the numbers of small files for the case growth."""
    scan = Query("scan", "SELECT * FROM lineitem", columns=LINEITEM_COLUMNS)
    copying = Query("write", "SELECT * FROM lineitem", sink="write")
    three = Query("3-of-16", f"SELECT {', '.join(THREE_COLUMNS)} FROM lineitem", columns=THREE_COLUMNS)  # noqa: S608  our names
    as_columns = Query("columns", scan.sql, sink="columns", columns=LINEITEM_COLUMNS)
    found = [
        Case("columns", "Full scan, taken as columns", (as_columns,), (*SPARK, "pme-uniform", *OUTSIDERS)),
        growth(files),
        Case("scan", "Full scan of lineitem, 16 columns", (scan,), (*SPARK, "pme-accp")),
        Case("q1", "TPC-H Q1", (Query("q1", Q1, sink="collect"),)),
        Case("q6", "TPC-H Q6", (Query("q6", Q6, sink="collect"),)),
        Case("q14", "TPC-H Q14", (Query("q14", Q14, (*LINEITEM, ("part", "part")), "collect"),)),
        Case("projection", "Projection of 3 of 16 columns", (three,)),
        sweep("sorted", thresholds.sorted_queries()),
        sweep("unsorted", thresholds.unsorted_queries()),
        Case("write", "Write of lineitem", (copying,), WRITERS, long=False),
        Case("small-files", "Many small files", (whole("small"),), SHORT),
        Case("wide", "Table of 500 columns", (whole("wide"),), SHORT),
        Case("wide-5", "5 of 500 columns", (five_of_wide(),), SHORT),
        page_sizes(),
        Case("outsiders", "PyArrow and DuckDB: scan", (scan,), ("plain", "pme-uniform", "pyarrow", "duckdb")),
        Case("outsiders-3", "PyArrow and DuckDB: 3 of 16", (three,), ("plain", "pme-uniform", "pyarrow", "duckdb")),
    ]
    return {case.name: case for case in found}


def sweep(which: str, conditions: dict[str, str]) -> Case:
    """Return the case of queries for more and fewer rows, the largest first: it warms up the JVM for the others."""
    queries = (
        Query(f"{name}", f"SELECT * FROM lineitem WHERE {condition}")  # noqa: S608  numbers from the data
        for name, condition in conditions.items()
    )
    return Case(which, f"Rows found by the {which} column", tuple(queries), SHORT, ("warm",), long=False)


def growth(files: Sequence[int]) -> Case:
    """Return the case of more and more small files with equal row counts: the most files first, to warm up the JVM."""
    columns = ("l_quantity", "l_extendedprice")
    sums = f"SELECT {', '.join(f'sum({column})' for column in columns)} FROM t"  # noqa: S608  our names
    queries = (
        Query(f"{count} files", sums, (("t", files_name(count)),), "collect", columns)
        for count in sorted(files, reverse=True)
    )
    return Case("growth", "A sum over more and more small files", tuple(queries), (*SHORT, *OUTSIDERS), long=False)


def page_sizes() -> Case:
    """Return the case of page sizes and codecs."""
    queries = tuple(whole(pages_name(kib, codec), f"{codec} {kib} KiB") for codec in CODECS for kib in PAGE_KIB)
    return Case("pages", "Page sizes and codecs", queries, ("plain", "builtin-gcm", "pme"), ("warm",), long=False)


def whole(table: str, name: str = "") -> Query:
    """Return a scan of every column of a table."""
    return Query(name or table, "SELECT * FROM t", (("t", table),))


def five_of_wide() -> Query:
    """Return a projection of the wide table to one column of each kind."""
    return Query("wide-5", "SELECT c100, c201, c302, c403, c499 FROM t", (("t", "wide"),))
