"""How many rows a condition lets through, computed from the data: the queries of a sweep need this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from bench.job import View

SELECTIVITIES = ("50", "10", "1", "0.1", "0.01", "0.001")


@dataclass(frozen=True)
class Thresholds:
    """Values that let a known part of lineitem through: it is sorted by l_orderkey, and not by l_extendedprice."""

    rows: int
    order_key: int
    order_keys: dict[str, tuple[int, int]]
    part_key: int
    prices: dict[str, str]

    def sorted_queries(self) -> dict[str, str]:
        """Return conditions on the sorted column."""
        ranges = {f"{part} %": f"l_orderkey BETWEEN {a} AND {b}" for part, (a, b) in self.order_keys.items()}
        return ranges | {"point": f"l_orderkey = {self.order_key}"}

    def unsorted_queries(self) -> dict[str, str]:
        """Return conditions on unsorted columns; a part has some thirty lines at any scale."""
        ranges = {f"{part} %": f"l_extendedprice <= {price}" for part, price in self.prices.items()}
        return ranges | {"point": f"l_partkey = {self.part_key}"}


def ask(lineitem: View) -> Thresholds:
    """Query the data for values that let given numbers of rows through."""
    parts = [float(part) / 100 for part in SELECTIVITIES]
    # Starts after a quarter of the table, so that no range begins where the table does.
    ends = [0.25 + part for part in parts]
    found = duckdb.execute(
        "SELECT count(*), quantile_disc(l_orderkey, 0.25), quantile_disc(l_orderkey, $ends), "
        "quantile_disc(l_partkey, 0.5), quantile_disc(l_extendedprice, $parts) FROM read_parquet($path)",
        {"ends": ends, "parts": parts, "path": lineitem["path"]},
    ).fetchone()
    if found is None:
        raise ValueError(f"{lineitem['path']} has no rows.")
    rows, begin, keys, part_key, prices = found
    ranges = {part: (begin, key) for part, key in zip(SELECTIVITIES, keys, strict=True)}
    return Thresholds(rows, begin, ranges, part_key, dict(zip(SELECTIVITIES, map(str, prices), strict=True)))
