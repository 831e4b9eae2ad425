"""`pme.report`: one HTML page about the protection of a table. Start at `report`.

`facts` gathers what is known, with keys and without, `protection` what protects each column and what is wrong; `page`
puts the page together from `summary`, `keys`, `exposed` and `snapshots`, all of them made with `html`. `make` runs
these in order and writes the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._audience import Words

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike
    from pme_parquet._operations.verify import Sample

__all__ = ["report"]


def report(  # noqa: PLR0913 all settings of a report
    path: PathLike,
    out: PathLike = "report.html",
    *,
    spark: SparkSession | None = None,
    kms: KmsLike | None = None,
    options: Mapping[str, Any] | None = None,
    sample: Sample | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> Path:
    """Write an HTML report of a table: which keys protect what, what is not protected, what is wrong, and what differs.

    Without `spark` it shows what files state, as `pme.inspect` does, and proves nothing. With it, every module is
    opened with the keys (`pme.verify`), and columns are listed by name (`pme.key_usage`).
    The report is one file that loads nothing and runs nothing.

    Example:
        pme.report("people")                                             # what can be seen without a key
        pme.report("people", "people.html", spark=spark, kms=keys)       # and what keys show

    Args:
        path: a table's directory, with its partitions, or one file; as `pme.inspect` takes it, and with a
            session as Spark takes it, too.
        out: the local file to write. An existing file is replaced in one step.
        spark: a classic session. What is seen without keys is read with its settings of file systems, too, as by
            `pme.inspect`.
        kms: the KMS of the master keys; by default that of the session.
        options: options for reading. What they refuse is a finding.
        sample: the part of the table to verify; by default all of it.
        storage_options: for fsspec, in place of the session's settings; as for `pme.inspect`.
        progress: whether to show progress with `spark`; by default on a terminal and in a notebook.

    Returns:
        The path of the report. Its time of creation is SOURCE_DATE_EPOCH if the environment sets it.

    Raises:
        BadOptionError: there is nothing at the path; `out` cannot be written, or is in the table; `kms`, `options` or
            `sample` without `spark`.
        UnsupportedError: a setting of the session has no counterpart in fsspec's packages. Pass `storage_options`.
        PmeError: the storage cannot list the path, or something is wrong with the KMS. A file that does not open is a
            finding.
    """
    from pme_parquet._arguments import path_of  # noqa: PLC0415 as below
    from pme_parquet._report.make import make  # noqa: PLC0415 nothing that is not needed at import

    return make(
        path_of(path, Words("pme.report")),
        out,
        spark=spark,
        kms=kms,
        options=options,
        sample=sample,
        storage_options=storage_options,
        progress=progress,
    ).page
