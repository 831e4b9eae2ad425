"""`pme.report`: one HTML page of how a table is protected. Start at `report`.

`facts` gathers what is known, `keyed` what only keys tell, `layout` where the parts of a file lie; `page` puts the page
together from `summary`, `sections`, `exposed` and `picture`, all of it made by `html`; `write` puts it in its place.
"""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from pathlib import Path

    from pyspark.sql import SparkSession

    from pme_parquet._kms import Kms
    from pme_parquet._verify import Sample

__all__ = ["report"]


def report(  # noqa: PLR0913 what it can be given
    path: str | PathLike[str],
    out: str | PathLike[str] = "report.html",
    *,
    spark: SparkSession | None = None,
    kms: Kms | None = None,
    options: Mapping[str, str] | None = None,
    sample: Sample | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Path:
    """Writes an HTML page that tells how a table is protected: by which keys, what is not, what is wrong, what differs.

    Without `spark` it tells what files say of themselves, as `pme.inspect` does, and proves nothing. With it, every
    module is opened with the keys (`pme.verify`), columns are told by name (`pme.key_usage`), and the picture of a file
    has its pages. The page is one file that loads nothing and runs nothing.

    Example:
        pme.report("people")                                             # what can be seen without a key
        pme.report("people", "people.html", spark=spark, kms=keys)       # and what keys show

    Args:
        path: a table's directory, with its partitions, or one file; as `pme.inspect` takes it, and with `spark` as
            Spark takes it too.
        out: where the page goes, on this machine. What was there is replaced at once, or not at all.
        spark: a classic session.
        kms: where the master keys are, if not where the session says.
        options: of the format, for reading. What they refuse is a finding.
        sample: which part of the table is verified; without one, all of it.
        storage_options: for fsspec, as `pme.inspect` takes them.

    Returns:
        The path of the page. Its time of creation is that of SOURCE_DATE_EPOCH, where the environment has it.

    Raises:
        BadOptionError: there is nothing at the path; `out` cannot be written, or is in the table; `kms`, `options` or
            `sample` without `spark`.
        PmeError: the storage cannot list the path, or something is wrong with the KMS. A file that does not open is a
            finding.
    """
    from pme_parquet import __version__  # noqa: PLC0415 not known before
    from pme_parquet._report.facts import gather  # noqa: PLC0415 nothing that is not needed at import
    from pme_parquet._report.page import page  # noqa: PLC0415 as above
    from pme_parquet._report.write import target_of, write  # noqa: PLC0415 as above

    table = os.fspath(path)
    target = target_of(out, table)
    keyed = None
    if spark is not None:
        from pme_parquet._report.keyed import Keyed  # noqa: PLC0415 as above

        keyed = Keyed(spark, table, kms, options, sample)
    elif kms is not None or options is not None or sample is not None:
        raise BadOptionError(
            "pme.report: kms, options and sample are of no use, because without spark nothing is opened. "
            "Add spark=, or leave them out."
        )
    write(page(gather(table, storage_options, keyed), _created(), __version__), target)
    return target


def _created() -> datetime:
    pinned = os.environ.get("SOURCE_DATE_EPOCH")
    if not pinned:
        return datetime.now(timezone.utc)
    try:
        return datetime.fromtimestamp(int(pinned), timezone.utc)
    except (ValueError, OverflowError) as unusable:
        raise BadOptionError(
            f"SOURCE_DATE_EPOCH: it cannot be '{pinned}', because it is a number of seconds since 1970. "
            "Correct it, or unset it."
        ) from unusable
