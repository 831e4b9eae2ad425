"""Makes a report from beginning to end, and counts its findings."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from pme_parquet._access import access
from pme_parquet._audience import Words
from pme_parquet._report.facts import gather
from pme_parquet._report.page import page
from pme_parquet._report.write import target_of, write
from pme_parquet._version import __version__
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike
    from pme_parquet._operations.verify import Sample
    from pme_parquet._report.keyed import Keyed

_WHERE = Words("pme.report")


class Made(NamedTuple):
    """A written page, and the conditions of its findings from inspection and from verification."""

    page: Path
    conditions: tuple[str, ...]

    @property
    def findings(self) -> int:
        """The number of findings."""
        return len(self.conditions)


def make(  # noqa: PLR0913 as in pme.report
    table: str,
    out: PathLike,
    *,
    spark: SparkSession | None = None,
    kms: KmsLike | None = None,
    options: Mapping[str, Any] | None = None,
    sample: Sample | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> Made:
    """Does the work of `pme.report`."""
    target = target_of(out, table)
    keyed = _keyed(spark, table, kms, options, sample, progress)
    reached = access(table, storage_options, spark, _WHERE)
    try:
        facts = gather(table, reached, keyed)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"{_WHERE} was interrupted: no page was written, and an existing one is unchanged. Run it again, or with "
            "a sample, or without keys."
        ) from None
    write(page(facts, _created(), __version__), target)
    return Made(target, tuple(one.condition for one in facts.problems))


def _keyed(  # noqa: PLR0913, PLR0917 as above
    spark: SparkSession | None,
    table: str,
    kms: KmsLike | None,
    options: Mapping[str, Any] | None,
    sample: Sample | None,
    progress: bool | None,  # noqa: FBT001 three possible values
) -> Keyed | None:
    if spark is not None:
        from pme_parquet._operations.operation import Operation  # noqa: PLC0415 only with Spark
        from pme_parquet._report.keyed import Keyed  # noqa: PLC0415 as above

        Operation(spark, _WHERE, "Verification", "verify")  # raises now if the session cannot verify
        return Keyed(spark, table, kms, options, sample, progress)
    if kms is not None or options is not None or sample is not None:
        raise BadOptionError(
            f"{_WHERE}: kms, options and sample have no effect without spark. Add spark=, or remove them."
        )
    return None


def _created() -> datetime:
    pinned = os.environ.get("SOURCE_DATE_EPOCH")
    if not pinned:
        return datetime.now(timezone.utc)
    try:
        return datetime.fromtimestamp(int(pinned), timezone.utc)
    except (ValueError, OverflowError) as unusable:
        raise BadOptionError(
            f"SOURCE_DATE_EPOCH: '{pinned}' is not a number of seconds since 1970. Correct it, or unset it."
        ) from unusable
