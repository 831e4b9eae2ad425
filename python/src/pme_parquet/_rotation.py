"""Rotation of master keys, the keys of a table wrapped anew and its data untouched; and which keys protect what."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pme_parquet._arguments import kms_options, path_of
from pme_parquet._driver import frame_of, method_of, reading
from pme_parquet._failed import error_of
from pme_parquet._progress import watched

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from pme_parquet._arguments import KmsLike, PathLike


_MOST_SHOWN = 20
_UNCHANGED = "nothing was changed."
_RESUMABLE = (
    "each file is whole, under its old master keys or its new ones. Run it again with the same arguments: it goes on. "
    "Keep the old master keys until then."
)


@dataclass(frozen=True)
class RotatedFile:
    """What a rotation did with one file.

    Attributes:
        file: where it is.
        status: `rotated`; `unchanged`, for it was done before; `skipped`, for it has no wrapped keys; or `failed`.
        master_keys: the master keys that its keys are under now.
        rewrapped: how many distinct keys of it were wrapped anew.
        left: its master keys that were not to be changed.
        material: where its key material is now: `internal`, `external`, or `mixed`.
        condition: what went wrong, if something did.
        message: why it was skipped or failed.
    """

    file: str
    status: Literal["rotated", "unchanged", "skipped", "failed"]
    master_keys: list[str]
    rewrapped: int
    left: list[str]
    material: str | None
    condition: str | None
    message: str | None


@dataclass(frozen=True)
class RotationReport:
    """What a rotation did, or with `dry_run` what it would do, file by file.

    `print(report)` shows the counts and what needs attention.
    """

    files: list[RotatedFile]
    dry_run: bool

    @property
    def counts(self) -> dict[str, int]:
        """How many files have which status."""
        return dict(Counter(file.status for file in self.files))

    @property
    def failed(self) -> list[RotatedFile]:
        """The files that keep their old keys because something went wrong."""
        return [file for file in self.files if file.status == "failed"]

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in sorted(self.counts.items()))
        left = sorted({key for file in self.files for key in file.left})
        lines = [f"{len(self.files)} files{' (dry run)' if self.dry_run else ''}: {counts or 'none'}"]
        lines += [f"left as they are: keys under {', '.join(left)}"] if left else []
        told = [f"{file.status}: {file.file}: {file.message}" for file in self.files if file.message]
        lines += told[:_MOST_SHOWN] + ([f"and {len(told) - _MOST_SHOWN} more"] if len(told) > _MOST_SHOWN else [])
        return "\n".join(lines)


def rotate(  # noqa: PLR0913 each says another thing of where keys come from and go
    spark: SparkSession,
    path: PathLike,
    *,
    kms: KmsLike | None = None,
    new_kms: KmsLike | None = None,
    master_keys: Mapping[str, str] | None = None,
    key_material: Literal["internal", "external"] | None = None,
    dry_run: bool = False,
    allow_unused: bool = False,
    options: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> RotationReport:
    """Wraps the keys of a table anew: under other master keys, new versions of them, or another KMS.

    Only footers, or the files of key material beside, are written; pages stay byte for byte what they are. A file is
    replaced in one step, so readers see the old one or the new one. Run it again if it was killed: it finishes.

    Example:
        report = pme.rotate(spark, path, kms=keys, master_keys={"pii-2024": "pii-2025"})
        print(report)

    Args:
        spark: a classic session.
        path: a table's directory, with its partitions, or one file.
        kms: where the master keys are, if not where the session says.
        new_kms: where they are to be, if that is another KMS.
        master_keys: the new master key of each; keys under others are left, and a name that no key is under is an
            error. Without it each key goes under the newest version of its own master key, and with `new_kms` under the
            master key of the same name there.
        key_material: where key material is to stand, if not where it does. `master_keys={}` changes only that.
        dry_run: look at every file, but write nothing.
        allow_unused: whether `master_keys` may name some that no key of the table is under. What an earlier run of the
            same rotation has taken keys from needs no such word.
        options: of the format, for reading: `aadPrefix` for files that do not keep theirs.
        progress: whether to show how far it has come; by default on a terminal and in a notebook.

    Raises:
        BadOptionError: no key is under one of `master_keys`; nothing was changed.
        PmeError: some files could not be rotated; the others are. The error's `report` tells which. Without a report
            nothing was changed: under a new master key nothing could be wrapped, for one.
    """
    change = method_of(spark, "Rotation", "rotate", "pme.rotate")
    arguments = (
        path_of(path, "pme.rotate"),
        reading(kms, options, "pme.rotate"),
        None if new_kms is None else kms_options(new_kms, "pme.rotate(new_kms)"),
        None if master_keys is None else dict(master_keys),
        key_material,
        dry_run,
        allow_unused,
    )
    state = _UNCHANGED if dry_run else _RESUMABLE
    jdf = watched(spark, lambda: change(*arguments), name="pme.rotate", progress=progress, interrupted=state)
    files = [RotatedFile(**row.asDict()) for row in frame_of(spark, jdf).collect()]
    report = RotationReport(files, dry_run)
    if report.failed:
        others = f"{len(report.failed)} of {len(files)} files failed; the error's report lists them."
        raise error_of(report.failed[0], "rotated", others, report)
    return report


def key_usage(
    spark: SparkSession,
    path: PathLike,
    *,
    kms: KmsLike | None = None,
    options: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> DataFrame:
    """Which master keys protect what of a table, and what could no longer be read if one were destroyed.

    Example:
        pme.key_usage(spark, path, kms=keys).show()

    A row for each master key, version of it (where the KMS writes that into what it wraps, as Vault does), kind and
    wrapping. `columns`, `bytes` and `rows` are what the key protects; `unreadable_files` and `unreadable_columns` what
    nobody could read without it: without a footer's key, that is the file. `unreadable_in_some_files` has columns that
    other files have in plaintext. Bytes are those of column chunks, and null where a key is missing that would tell;
    `problems` has the conditions for it. `data_key_bits` and `kek_bits` are lengths of data keys and key encryption
    keys, where the length of the wrapped key tells.

    Rows without a key come first: `plaintext column` for columns that encrypted files leave readable, with how many
    files do so, and `plaintext` for files that are not encrypted.

    Args:
        spark: a classic session.
        path: a table's directory, with its partitions, or one file.
        kms: where the master keys are. Without one: the session's, or else what can be seen without keys.
        options: of the format, for reading: `aadPrefix` for files that do not keep theirs.
        progress: whether to show how far it has come; by default on a terminal and in a notebook.
    """
    of = method_of(spark, "KeyUsage", "of", "pme.key_usage")
    arguments = (path_of(path, "pme.key_usage"), reading(kms, options, "pme.key_usage"))
    jdf = watched(spark, lambda: of(*arguments), name="pme.key_usage", progress=progress, interrupted=_UNCHANGED)
    return frame_of(spark, jdf)
