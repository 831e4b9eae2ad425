"""Compaction: small files of a table become few, under the same keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import joined
from pme_parquet._audience import Words
from pme_parquet._display.words import number, size
from pme_parquet._operations.operation import Operation, result_of
from pme_parquet._operations.sealing import Sealed, own_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike

_WHERE = Words("pme.compact")
_MOST_SHOWN = 20
_UNCHANGED = "nothing was changed."
_WHOLE = "the table is as before, or compacted as a whole. If readers fail on it, run it again."


@dataclass(frozen=True)
class CompactedFile:
    """One new file in the place of several.

    Attributes:
        directory: where it and they are.
        file: its name; None for a dry run.
        replaced: the names of the files that it replaces.
        rows: number of their rows.
        bytes_before: their size.
        bytes: its size; None for a dry run.
    """

    directory: str
    file: str | None
    replaced: tuple[str, ...]
    rows: int
    bytes_before: int
    bytes: int | None


@dataclass(frozen=True)
class LeftFile:
    """A small file that can be merged with no other.

    Attributes:
        file: its path.
        reason: why.
    """

    file: str
    reason: str


@dataclass(frozen=True)
class Compacted:
    """What a compaction did, or would do with `dry_run`. `print(done)` shows the counts.

    Attributes:
        merged: the new files.
        left: small files that can be merged with no other, and why. A file that only lacks a partner is not in it.
        put_right: whether a run that was killed before was undone or completed first.
        sealed: the version that sealed the table again; None if it is not sealed, or nothing was merged.
    """

    merged: tuple[CompactedFile, ...]
    left: tuple[LeftFile, ...]
    put_right: bool
    sealed: Sealed | None = None

    def __str__(self) -> str:
        replaced = sum(len(one.replaced) for one in self.merged)
        counts = f"{number(replaced, 'file')} ({size(sum(one.bytes_before for one in self.merged))})"
        is_dry = any(one.file is None for one in self.merged)
        lines = [
            f"{counts} {'would become' if is_dry else 'became'} {len(self.merged)}" if replaced else "no file merged"
        ]
        lines += [f"left: {one.file}: {one.reason}" for one in self.left[:_MOST_SHOWN]]
        lines += [f"and {len(self.left) - _MOST_SHOWN} more"] if len(self.left) > _MOST_SHOWN else []
        return "\n".join(lines)


def compact(  # noqa: PLR0913 what to merge, with which keys, and how
    spark: SparkSession,
    path: PathLike,
    kms: KmsLike | None = None,
    *,
    target_size: int = 128 * 1024 * 1024,
    dry_run: bool = False,
    after_kill: bool = False,
    signing: str | None = None,
    options: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> Compacted:
    """Merge small files of a table, under the same keys.

    Files become one only if they lie in one directory and have the same keys for each column, algorithm, AAD prefix,
    wrapping, key material, footer mode, codec, schema and key-value metadata. So no value gets another key. Each cell
    of a new file is compared with the old one before any file is replaced. Then all are replaced at once: meanwhile,
    and after a kill until the next run, reads fail, and never return a row twice or miss one.

    A sealed table is sealed again, by a version that lists the new files in the place of the old ones.

    Nobody may overwrite or delete files of the table meanwhile. Files that are added stay as they are. A stream that
    reads the directory would take new files for new rows.

    Example:
        print(pme.compact(spark, "/data/people", keys))      # 96 files (12.3 MB) became 1

    Args:
        spark: a classic session; what runs is a Spark job of one task per new file.
        path: the directory of a table, or of a partition. Not a table of Delta, Hudi or Iceberg, nor one of a stream.
        kms: the KMS of the master keys; by default that of the session.
        target_size: size of a new file, in bytes. Smaller files are merged, the smallest first.
        dry_run: say what would be merged, and change nothing.
        after_kill: whether you know that no compaction of the table runs any more. Needed after one was killed in HDFS
            or in an object store, where nobody can see that.
        signing: the key to sign the seal with, if the table is sealed with a signature.
        options: options for reading: `aadPrefix` for files that do not contain it.
        progress: whether to show progress; by default on a terminal and in a notebook.

    Raises:
        PmeError: a file does not open, a key is missing, or a file changed meanwhile. The table is then as it was.
    """
    compaction = Operation(spark, _WHERE, "Compaction", "compact")
    reading = joined(compaction.reading(kms, options), own_options(_WHERE, signing), _WHERE)
    done = compaction.run(
        compaction.path(path),
        reading,
        int(target_size),
        bool(dry_run),
        bool(after_kill),
        progress=progress,
        interrupted=_UNCHANGED if dry_run else _WHOLE,
    )
    merged = tuple(
        result_of(CompactedFile, one, replaced=tuple(one.replaced()), bytes=None if one.file() is None else one.bytes())
        for one in done.merged()
    )
    left = tuple(result_of(LeftFile, one) for one in done.left())
    version = done.sealedAs()
    sealed = None if version is None else result_of(Sealed, version)
    return Compacted(merged, left, done.putRight(), sealed)
