"""Writes files that users keep: each appears whole or not at all, and is on disk when the call returns.

A file is first written and synced next to its place, under a random name that no other process has. Then one system
call moves it into its place. A process that is killed at any point leaves the old file or the new one.
"""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Attributes that the operating system sets on a new file by its own rules.
_OF_THE_SYSTEM = ("security.", "trusted.")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def real(path: Path) -> Path:
    """Follows links: a replacement must be written where the file is, not where a link to it is.

    Raises:
        OSError: the link leads nowhere, or in a circle.
    """
    return Path(os.path.realpath(path, strict=True))


def create(path: Path, content: bytes, *, mode: int) -> None:
    """Creates a file where there is nothing, not even a link.

    Raises:
        FileExistsError: there is something, perhaps since a moment ago.
        OSError: the operating system does not allow it, or cannot do it in one step.
    """
    with _beside(path, content, mode) as staged:
        os.link(staged, path, follow_symlinks=False)
    _sync(path.parent)


def replace(path: Path, content: bytes, *, like: int | None = None, mode: int = 0o600, exactly: bool = False) -> None:
    """Replaces a file, or creates it if there is none.

    Args:
        path: leads to the file without a link.
        content: of the new file.
        like: a descriptor of the old file; the new one gets its owner, mode and access list.
        mode: the mode of the new file if there is no `like`.
        exactly: whether the umask does not apply to `mode`, for example because it is an old file's.

    Raises:
        OSError: the operating system does not allow it; the old file stays.
    """
    with _beside(path, content, mode, like, exactly=exactly) as staged:
        os.replace(staged, path)  # noqa: PTH105 this module exists for this one call
    _sync(path.parent)


@contextmanager
def _beside(path: Path, content: bytes, mode: int, like: int | None = None, *, exactly: bool = False) -> Iterator[Path]:
    staged = path.with_name(f".pme-{secrets.token_hex(16)}")
    descriptor = os.open(staged, _NEW, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if like is not None:
                _take_after(file.fileno(), like)
            elif exactly and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        yield staged
    finally:
        staged.unlink(missing_ok=True)


def _take_after(new: int, old: int) -> None:
    """Owner first, because changing it removes rights. Access list before mode, because the mode is its mask."""
    was, now = os.fstat(old), os.fstat(new)
    if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
        os.fchown(new, was.st_uid, was.st_gid)
    if hasattr(os, "listxattr"):
        for name in _attributes(old):
            os.setxattr(new, name, os.getxattr(old, name))
    if hasattr(os, "fchmod"):
        os.fchmod(new, was.st_mode & 0o777)


def _attributes(file: int) -> list[str]:
    try:
        return [name for name in os.listxattr(file) if not name.startswith(_OF_THE_SYSTEM)]
    except OSError:  # a file system without access lists
        return []


def _sync(folder: Path) -> None:
    """A name is on disk when its directory is. Windows cannot open directories, and writes them by itself."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
