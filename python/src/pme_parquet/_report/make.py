"""Makes a report from beginning to end: the whole file or nothing, and never a file of the table."""

from __future__ import annotations

import os
import stat
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pme_parquet import _files
from pme_parquet._access import access
from pme_parquet._audience import Words
from pme_parquet._operations.operation import Operation
from pme_parquet._report.facts import Keyed, gather
from pme_parquet._report.page import page
from pme_parquet._storage import is_hidden, local_root
from pme_parquet._version import __version__
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike
    from pme_parquet._operations.verify import Sample

_WHERE = Words("pme.report")
# The mode of any new file; the user's umask applies.
_NEW = 0o666


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
    _write(page(facts, _created(), __version__), target)
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


def target_of(out: PathLike, table: str) -> Path:
    """The file to write.

    Raises:
        BadOptionError: it cannot be written there, or must not.
    """
    target = Path(out)
    if "://" in os.fspath(out):
        raise _refused(out, "it is a URL", "Write it to a local path, and copy it from there.")
    if target.is_dir():
        raise _refused(out, "it is a directory", "Name a file in it.")
    if target.exists() and not target.is_file():
        raise _refused(out, "it is not a regular file", "Choose another path.")
    if not target.parent.is_dir():
        raise _refused(out, f"there is no directory {target.parent}", "Create it.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise _refused(out, "you have no write permission for its directory", "Choose a path with write permission.")
    root = local_root(table)
    if root is not None:
        _require_outside(target, Path(root).expanduser())
    return target


def _require_outside(target: Path, table: Path) -> None:
    """Refuses paths in the table: its readers take every file for data, unless the name is hidden."""
    place = target.resolve()
    table = table.resolve()
    if place == table:
        raise _refused(target, "it is the file that the report is about", "Choose another path.")
    # The other files in the directory of a file belong to the same table, as far as one can know.
    table = table.parent if table.is_file() else table
    while "=" in table.name:
        table = table.parent
    if table.is_dir() and place.is_relative_to(table) and not any(map(is_hidden, place.relative_to(table).parts)):
        raise _refused(
            target,
            f"it is inside the table {table}, where readers would take it for data",
            "Choose a path outside the table, or a name that begins with _ or a dot.",
        )


def _refused(out: PathLike, why: str, remedy: str) -> BadOptionError:
    return BadOptionError(f"{os.fspath(out)}: the report cannot be written there: {why}. {remedy}")


def _write(content: str, target: Path) -> None:
    """Writes a file in one step.

    Raises:
        BadOptionError: the operating system does not allow it.
    """
    try:
        # A link stays a link: its target is replaced.
        place = _files.real(target) if target.is_symlink() else target
        if place.exists():
            _files.replace(place, content.encode(), mode=stat.S_IMODE(place.stat().st_mode) & 0o777, exactly=True)
        else:
            _files.replace(place, content.encode(), mode=_NEW)
    except OSError as failed:
        raise _refused(target, str(failed.strerror or failed), "Choose a path with write permission.") from failed
