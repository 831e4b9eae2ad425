"""`pme-parquet inspect`, `delta-check`, `hudi-check` and `iceberg-check`. This module imports nothing that is slow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._checks.delta import check
from pme_parquet._checks.hudi import check as check_hudi
from pme_parquet._checks.iceberg import check as check_iceberg
from pme_parquet._cli.output import FINDING, print_result
from pme_parquet._inspect import inspect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike
    from pme_parquet._checks.results import CheckResult


def look(path: str, storage_options: Mapping[str, Any] | None = None, *, as_json: bool) -> None:
    """Prints what `inspect` finds. Exit 1 if something is wrong."""
    report = inspect(path, storage_options=storage_options, progress=True)
    print_result(report, report.to_dict(), as_json=as_json)
    if report.findings:
        raise SystemExit(FINDING)


def look_at_delta(
    path: str,
    columns: list[str] | None,
    storage_options: Mapping[str, Any] | None = None,
    *,
    as_json: bool,
    spark: SparkSession | None = None,
    kms: KmsLike | None = None,
) -> None:
    """Prints what `check` finds. Exit 1 if anything is readable, or was not looked at."""
    found = check(path, columns=columns or None, storage_options=storage_options, spark=spark, kms=kms)
    _answer(found, as_json=as_json)


def look_at_hudi(
    path: str, columns: list[str] | None, storage_options: Mapping[str, Any] | None, *, as_json: bool
) -> None:
    """As `look_at_delta`."""
    _answer(check_hudi(path, columns=columns or None, storage_options=storage_options), as_json=as_json)


def look_at_iceberg(path: str, storage_options: Mapping[str, Any] | None, *, as_json: bool) -> None:
    """As `look_at_delta`."""
    _answer(check_iceberg(path, storage_options=storage_options), as_json=as_json)


def _answer(found: CheckResult, *, as_json: bool) -> None:
    print_result(found, found.to_dict(), as_json=as_json)
    if not found.ok:
        raise SystemExit(FINDING)
