"""Rotation of master keys: it wraps the keys of a table again and does not touch the data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pme_parquet._arguments import kms_options
from pme_parquet._audience import Words
from pme_parquet._operations.operation import Operation, error_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike

_MOST_SHOWN = 20
_UNCHANGED = "nothing was changed."
_RESUMABLE = (
    "each file is complete, under either its old or its new master keys. Run it again with the same arguments to "
    "continue, and keep the old master keys until it has finished."
)


@dataclass(frozen=True)
class RotatedFile:
    """What a rotation did with one file.

    Attributes:
        file: its path.
        status: `rotated`; `unchanged`, because there was nothing to do; `skipped`, because it has no wrapped keys; or
            `failed`.
        master_keys: the master keys that wrap its keys now.
        rewrapped: number of its distinct keys that were wrapped again.
        left: its master keys that were not to be replaced.
        material: where its key material is now: `internal`, `external`, or `mixed`.
        condition: the condition of the error, if it failed.
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
    """What a rotation did, or would do with `dry_run`, for each file.

    `print(report)` shows the counts and what needs attention.
    """

    files: list[RotatedFile]
    dry_run: bool

    @property
    def counts(self) -> dict[str, int]:
        """The number of files by status."""
        return dict(Counter(file.status for file in self.files))

    @property
    def failed(self) -> list[RotatedFile]:
        """The files that failed and keep their old keys."""
        return [file for file in self.files if file.status == "failed"]

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in sorted(self.counts.items()))
        left = sorted({key for file in self.files for key in file.left})
        lines = [f"{len(self.files)} files{' (dry run)' if self.dry_run else ''}: {counts or 'none'}"]
        lines += [f"unchanged: keys under {', '.join(left)}"] if left else []
        details = [f"{file.status}: {file.file}: {file.message}" for file in self.files if file.message]
        lines += details[:_MOST_SHOWN] + (
            [f"and {len(details) - _MOST_SHOWN} more"] if len(details) > _MOST_SHOWN else []
        )
        return "\n".join(lines)


def rotate(  # noqa: PLR0913 each is another detail of old and new keys
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
    """Rotate the keys of a table: to other master keys, to new versions of them, or to another KMS.

    Only footers, or separate files of key material, are written; pages do not change. Each file is replaced in one
    step, so readers see either the old or the new file. If a run is killed, run it again to finish it.

    Example:
        report = pme.rotate(spark, path, kms=keys, master_keys={"pii-2024": "pii-2025"})
        print(report)

    Args:
        spark: a classic session.
        path: a table's directory, with its partitions, or one file.
        kms: the KMS of the master keys; by default that of the session.
        new_kms: the new KMS, if keys move to another one.
        master_keys: old master keys and their new ones. Keys under other master keys do not change, and an old master
            key that wraps no key of the table is an error. Without this argument, each key is wrapped with the newest
            version of its own master key, or in a new KMS with the master key of the same name there.
        key_material: moves key material into files (`internal`) or to separate files (`external`). With
            `master_keys={}` nothing else changes.
        dry_run: check every file, but write nothing.
        allow_unused: whether `master_keys` may name keys that the table does not use. Keys that an earlier run of the
            same rotation replaced need no permission.
        options: options for reading: `aadPrefix` for files that do not contain it.
        progress: whether to show progress; by default on a terminal and in a notebook.

    Raises:
        BadOptionError: the table does not use one of `master_keys`; nothing was changed.
        PmeError: some files could not be rotated; all others are. The `report` of the error lists them. Without a
            report nothing was changed, for example because a new master key cannot wrap.
    """
    rotation = Operation(spark, Words("pme.rotate"), "Rotation", "rotate")
    jdf = rotation.run(
        rotation.path(path),
        rotation.reading(kms, options),
        None if new_kms is None else kms_options(new_kms, "pme.rotate(new_kms)"),
        None if master_keys is None else dict(master_keys),
        key_material,
        dry_run,
        allow_unused,
        progress=progress,
        interrupted=_UNCHANGED if dry_run else _RESUMABLE,
    )
    files = [RotatedFile(**row.asDict()) for row in rotation.frame(jdf).collect()]
    report = RotationReport(files, dry_run)
    if report.failed:
        others = f"{len(report.failed)} of {len(files)} files failed; the report of this error lists them."
        raise error_of(report.failed[0], "rotated", others, report)
    return report
