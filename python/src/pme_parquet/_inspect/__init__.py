"""`pme.inspect`: what encrypted Parquet files show without a key, a JVM or Spark. Start at `inspect`.

`tails` gets a footer; `thrift` and `footers` read it; `material` and `beside` find the keys; `look` puts the results
for a file together as `inspected` defines them, and `differences` compares files; `tables` adds what snapshots state;
`report` is the answer, and `view` shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import path_of
from pme_parquet._inspect.report import Inspection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pme_parquet._arguments import PathLike
    from pme_parquet._storage import Found, Storage

__all__ = ["Inspection", "inspect"]

_THREADS = 16


def inspect(path: PathLike, *, storage_options: Mapping[str, Any] | None = None) -> Inspection:
    """Inspect a table or a file without any key: which keys protect what, what its snapshots state, and what is wrong.

    It reads only the ends of files, and the manifests of snapshots in `_pme_snapshots`. It proves nothing and checks no
    seal: anyone who can write to the storage can forge what a file states.

    Example:
        report = pme.inspect("s3://bucket/people")
        print(report)
        [file.file for file in report.files if not file.encrypted]

    Args:
        path: a file, or a directory with its partitions; a local path, or a URL of any file system that fsspec
            supports. Hadoop's `s3a://` is read as `s3://`.
        storage_options: credentials and endpoints for fsspec; by default its packages find their own.

    Raises:
        BadOptionError: there is nothing at the path.
        UnsupportedError: the package for the file system is not installed; the message names it.
        PmeError: the storage cannot list the path. A file that cannot be read is a finding.
    """
    from pme_parquet._storage import storage  # noqa: PLC0415 nothing that is not needed at import

    where = path_of(path, "pme.inspect")
    files = storage(where, storage_options)
    return inspection(where, files, tuple(files.files()), storage_options)


def inspection(
    where: str, files: Storage, found: Sequence[Found], storage_options: Mapping[str, Any] | None
) -> Inspection:
    """What the files at a path show, and the snapshots of their tables."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 as above

    from pme_parquet._inspect.differences import drift, groups, with_intruders  # noqa: PLC0415 as above
    from pme_parquet._inspect.look import look  # noqa: PLC0415 as above
    from pme_parquet._inspect.tables import tables  # noqa: PLC0415 as above
    from pme_parquet._storage import shown  # noqa: PLC0415 as above

    with ThreadPoolExecutor(_THREADS) as threads:
        looked = with_intruders(tuple(threads.map(lambda one: look(files, one), found)))
        sealing = tables(where, found, storage_options, threads)
    return Inspection(shown(where), looked, groups(looked), drift(looked), sealing)
