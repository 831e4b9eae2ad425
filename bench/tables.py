"""The tables that cases read, each written once in every copy: their query over TPC-H, and which columns have a key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LINEITEM_COLUMNS = (
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_linenumber",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
    "l_commitdate",
    "l_receiptdate",
    "l_shipinstruct",
    "l_shipmode",
    "l_comment",
)
MONEY = ("l_extendedprice", "l_discount", "l_tax")
WIDE_COLUMNS = 500
PAGE_KIB = (8, 64, 256, 1024)
SMALL_ROWS = 100
CODECS = ("none", "snappy", "zstd")

# The columns of a wide table, in turn. `id` is the row, `{i}` the column.
WIDE_KINDS = (
    "xxhash64(id, {i})",
    "CAST(pmod(id * {i}, 1000) AS INT)",
    "pmod(xxhash64(id, {i}), 100000) / 100.0D",
    "concat('value ', pmod(xxhash64(id, {i}), 5000))",
    "date_add(DATE'2000-01-01', CAST(pmod(id + {i}, 9000) AS INT))",
)


@dataclass(frozen=True)
class Table:
    """One table. Columns that ``encrypted`` names have a key of their own; the footer key protects all others."""

    name: str
    sql: str
    encrypted: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    files: int = 0


def tables(*, rows: int, wide_rows: int, small_files: int, growth: Sequence[int]) -> dict[str, Table]:
    """Return every table, for a lineitem of this many rows; ``growth`` are numbers of small files."""
    small_part = min(1000, max(1, 1_000_000_000 // max(rows, 1)))
    found = [
        Table("lineitem", "SELECT * FROM lineitem", MONEY),
        Table("part", "SELECT * FROM part", ("p_retailprice",)),
        Table("small", some_orders(small_part), MONEY, files=small_files),
        Table("wide", wide(wide_rows), ("c0", "c1", "c2")),
        *(small(count, rows) for count in growth),
        *(pages(kib, codec) for codec in CODECS for kib in PAGE_KIB),
    ]
    return {table.name: table for table in found}


def small(files: int, rows: int) -> Table:
    """Return a part of lineitem in this many files, each of about a hundred rows."""
    permille = min(1000, max(1, round(files * SMALL_ROWS * 1000 / max(rows, 1))))
    return Table(files_name(files), some_orders(permille), MONEY, files=files)


def files_name(files: int) -> str:
    """Return the name of the table with this many small files."""
    return f"files-{files}"


def pages(kib: int, codec: str) -> Table:
    """Return a quarter of lineitem in pages of this size; the default limit of 20,000 rows would make smaller ones."""
    options = {
        "compression": codec,
        "parquet.page.size": str(kib << 10),
        "parquet.page.row.count.limit": "2000000000",
    }
    return Table(pages_name(kib, codec), some_orders(250), MONEY, options)


def pages_name(kib: int, codec: str) -> str:
    """Return the name of the table with such pages."""
    return f"pages-{kib}k-{codec}"


def some_orders(permille: int) -> str:
    """Return a query for a part of lineitem, in its own order."""
    return f"SELECT * FROM lineitem WHERE pmod(xxhash64(l_orderkey), 1000) < {permille}"  # noqa: S608  a number


def wide(rows: int) -> str:
    """Return a query that makes a table of 500 columns."""
    columns = (f"{WIDE_KINDS[i % len(WIDE_KINDS)].format(i=i)} AS c{i}" for i in range(WIDE_COLUMNS))
    return f"SELECT {', '.join(columns)} FROM range(0, {rows}, 1, 2)"  # noqa: S608  made of our own names
