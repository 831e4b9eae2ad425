"""The user's own file of options, which applies to every command.

It may name classes and places of keys, so it is never looked for in the current directory, where others may have put
one, and never taken from a file that others can change.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pme_parquet._cli.parsing import in_file
from pme_parquet._display.words import printable
from pme_parquet.errors import BadOptionError

VARIABLE = "PME_PARQUET_CONFIG"
_NAME = Path("pme-parquet", "config")


def configured() -> dict[str, str]:
    """The options of the file that `PME_PARQUET_CONFIG` names, else of the one in the user's configuration directory.

    Raises:
        BadOptionError: the file cannot be used.
    """
    named = os.environ.get(VARIABLE)
    if named is not None:
        return _options(Path(named), f"{VARIABLE}={printable(named)}") if named else {}
    file = _of_user()
    return _options(file, printable(str(file))) if file is not None and file.exists() else {}


def _of_user() -> Path | None:
    """As the XDG specification says, which ignores a path that is not absolute."""
    own = Path(os.environ.get("XDG_CONFIG_HOME") or "")
    if own.is_absolute():
        return own / _NAME
    try:
        home = Path.home()
    except RuntimeError:  # nobody knows where it is
        return None
    return home / ".config" / _NAME if home.is_absolute() else None


def _options(file: Path, where: str) -> dict[str, str]:
    if not file.is_absolute():
        raise _refused(where, "its path is not absolute, so it depends on the current directory", "Give a full path.")
    try:
        status = file.stat()
    except OSError as failed:
        raise _refused(where, failed.strerror or "it cannot be read", f"Correct {VARIABLE}.") from None
    if hasattr(os, "geteuid") and status.st_uid not in {0, os.geteuid()}:
        raise _refused(where, "it belongs to another user", "Use a file of your own.")
    if os.name != "nt" and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _refused(where, "other users can change it", f"Run: chmod go-w {printable(str(file))}")
    return in_file(file, where)


def _refused(where: str, why: str, remedy: str) -> BadOptionError:
    return BadOptionError(f"{where}: the configuration file is not used: {why}. {remedy}")
