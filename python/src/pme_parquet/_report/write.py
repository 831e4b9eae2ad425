"""Writes a report: the whole file or nothing, and never a file of the table."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from pme_parquet import _files
from pme_parquet._storage import is_hidden, local_root
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from os import PathLike

# The mode of any new file; the user's umask applies.
_NEW = 0o666


def target_of(out: str | PathLike[str], table: str) -> Path:
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


def _refused(out: str | PathLike[str], why: str, remedy: str) -> BadOptionError:
    return BadOptionError(f"{os.fspath(out)}: the report cannot be written there: {why}. {remedy}")


def write(content: str, target: Path) -> None:
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
