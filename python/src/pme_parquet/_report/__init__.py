"""`pme.report`: one HTML page of how a table is protected. Start at `report`.

`facts` gathers what is known, `keyed` what only keys tell, `layout` where the parts of a file lie; `page` puts the page
together from `summary`, `sections`, `exposed` and `picture`, all of it made by `html`; `write` puts it in its place.
`make` does one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike
    from pme_parquet._verify import Sample

__all__ = ["report"]


def report(  # noqa: PLR0913 what it can be given
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
        progress: whether to show how far it has come with `spark`; by default on a terminal and in a notebook.

    Returns:
        The path of the page. Its time of creation is that of SOURCE_DATE_EPOCH, where the environment has it.

    Raises:
        BadOptionError: there is nothing at the path; `out` cannot be written, or is in the table; `kms`, `options` or
            `sample` without `spark`.
        PmeError: the storage cannot list the path, or something is wrong with the KMS. A file that does not open is a
            finding.
    """
    from pme_parquet._arguments import path_of  # noqa: PLC0415 as below
    from pme_parquet._report.make import make  # noqa: PLC0415 nothing that is not needed at import

    return make(
        path_of(path, "pme.report"),
        out,
        spark=spark,
        kms=kms,
        options=options,
        sample=sample,
        storage_options=storage_options,
        progress=progress,
    ).page
