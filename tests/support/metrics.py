"""What a scan really read, from the metrics of the executed plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame


def rows_scanned(df: DataFrame) -> int:
    """Run the query and return how many rows its only scan gave to the rest of the plan."""
    df.collect()
    [leaf] = _leaves(df)
    return int(leaf.metrics().apply("numOutputRows").value())  # type: ignore[attr-defined]


def scan_metrics(df: DataFrame, names: Sequence[str]) -> dict[str, int]:
    """Run the query and return the metrics of its only scan, by name."""
    df.collect()
    [leaf] = _leaves(df)
    metrics = leaf.metrics()  # type: ignore[attr-defined]
    return {name: int(metrics.apply(name).value()) for name in names}


def _leaves(df: DataFrame) -> list[object]:
    leaves = df._jdf.queryExecution().executedPlan().collectLeaves()
    return [leaves.apply(index) for index in range(leaves.size())]
