"""`pme.inspect`: what encrypted Parquet files show without a key, a JVM or Spark. Start at `inspect`.

`footers` gets a footer and reads it with `thrift`, and `names` names its columns; `material` finds the keys; `look`
puts the results for a file together as `inspected` defines them, `orc` those of an ORC file, and `differences` compares
files; `tables` adds what snapshots and table formats state; `report` is the answer, and `view` shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import path_of
from pme_parquet._audience import Words
from pme_parquet._inspect.report import Inspection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from pme_parquet._access import Access
    from pme_parquet._arguments import PathLike
    from pme_parquet._inspect.inspected import InspectedFile
    from pme_parquet._storage import Found, Storage

__all__ = ["Inspection", "inspect"]

_THREADS = 16
_MANY = 1_000
_BETWEEN = 100


def inspect(
    path: PathLike,
    *,
    storage_options: Mapping[str, Any] | None = None,
    spark: SparkSession | None = None,
    progress: bool | None = None,
) -> Inspection:
    """Inspect a table or a file without any key: which keys protect what, what its snapshots state, and what is wrong.

    It reads only the ends of files, and the manifests of snapshots in `_pme_snapshots`. It proves nothing and checks no
    seal: anyone who can write to the storage can forge what a file states. It names Delta, Iceberg and Hudi tables. Of
    a Delta table's log it only learns which files are live, from the package `deltalake` if that is installed.

    Example:
        report = pme.inspect("s3://bucket/people")
        print(report)
        [file.file for file in report.files if not file.encrypted]

    Args:
        path: a file, or a directory with its partitions; a local path, or a URL of any file system that fsspec
            supports. Hadoop's `s3a://` is read as `s3://`.
        storage_options: options of fsspec: credentials and endpoints; by default its packages find their own. Secrets
            may be references, as `pme.env` makes them.
        spark: a classic session, whose settings of file systems are used if there are no `storage_options`. No job
            runs, except those by which the session's own Delta reads the log of a table that `deltalake` cannot read. A
            setting that cannot be applied is an error.
        progress: whether to show progress over many files; by default on a terminal and in a notebook.

    Raises:
        BadOptionError: there is nothing at the path, or a secret cannot be read.
        UnsupportedError: the package for the file system is not installed, or a setting of the session has no
            counterpart; the message names it.
        PmeError: the storage cannot list the path. A file that cannot be read is a finding.
    """
    from pme_parquet._access import access  # noqa: PLC0415 nothing that is not needed at import
    from pme_parquet._storage import storage  # noqa: PLC0415 as above

    where = path_of(path, Words("pme.inspect"))
    reached = access(where, storage_options, spark, Words("pme.inspect"))
    files = storage(where, reached.options)
    # With options, the session may reach another storage.
    own = spark if storage_options is None else None
    return inspection(where, files, tuple(files.files()), reached, own, progress=progress)


def inspection(  # noqa: PLR0913 where, with what, and how it is shown
    where: str,
    files: Storage,
    found: Sequence[Found],
    reached: Access,
    spark: SparkSession | None = None,
    *,
    progress: bool | None = None,
) -> Inspection:
    """What the files at a path show, and the snapshots of their tables."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 as above

    from pme_parquet._inspect.differences import drift, groups, with_intruders  # noqa: PLC0415 as above
    from pme_parquet._inspect.look import look  # noqa: PLC0415 as above
    from pme_parquet._inspect.tables import tables, with_live, without_metadata  # noqa: PLC0415 as above
    from pme_parquet._storage import shown  # noqa: PLC0415 as above

    with ThreadPoolExecutor(_THREADS) as threads:
        data, iceberg = without_metadata(files, found, threads)
        each = threads.map(lambda one: look(files, one), data)
        looked = with_intruders(tuple(_watched(each, len(data), progress=progress)))
        sealing = tables(where, data, iceberg, reached.options, threads)
    looked, sealing = with_live(where, looked, sealing, reached, spark)
    return Inspection(shown(where), looked, groups(looked), drift(looked), sealing, reached.words)


def _watched(each: Iterable[InspectedFile], total: int, *, progress: bool | None) -> Iterator[InspectedFile]:
    """The same files, and their number on the way. Few files are done before anyone could read it."""
    if total < _MANY:
        yield from each
        return
    from pme_parquet._display.progress import Step, chosen  # noqa: PLC0415 only to show it

    with chosen(progress=progress) as form:
        for number, file in enumerate(each, start=1):
            if number % _BETWEEN == 0:
                form.show(Step("inspecting", number, total, 0, 0))
            yield file
        form.finish(Step("inspecting", total, total, 0, 0))
