"""Files that users keep: each is written whole or not at all, and is on disk when the call returns.

A file is first written beside its place, under a random name that nobody else has, and synced. One call of the
operating system then puts it in its place. A process that is killed at any point leaves the old file or the new one.
"""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Attributes that the operating system gives a new file by its own rules.
_OF_THE_SYSTEM = ("security.", "trusted.")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def real(path: Path) -> Path:
    """Follows links: what takes a file's place must do so where the file is, not where a link to it is.

    Raises:
        OSError: it leads nowhere, or in a circle.
    """
    return Path(os.path.realpath(path, strict=True))


def create(path: Path, content: bytes, *, mode: int) -> None:
    """Makes a file where there is nothing, not even a link.

    Raises:
        FileExistsError: there is something, perhaps since a moment ago.
        OSError: the operating system does not let it, or cannot do it in one step.
    """
    with _beside(path, content, mode) as staged:
        os.link(staged, path, follow_symlinks=False)
    _sync(path.parent)


def replace(path: Path, content: bytes, *, like: int | None = None, mode: int = 0o600, exactly: bool = False) -> None:
    """Puts a file in the place of another one, or where there is none.

    Args:
        path: which leads to it without a link.
        content: of the new one.
        like: a descriptor of the old one, whose owner, mode and access list the new one gets.
        mode: without it.
        exactly: whether the umask takes nothing away from this mode, as where it is an old file's.

    Raises:
        OSError: the operating system does not let it; the old one is there.
    """
    with _beside(path, content, mode, like, exactly=exactly) as staged:
        os.replace(staged, path)  # noqa: PTH105 the one call that all of this is about
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
    """Owner first: a change of owner takes rights away. An access list before the mode, which is its mask."""
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
    except OSError:  # a file system that has none
        return []


def _sync(folder: Path) -> None:
    """A name is on the disk when its directory is. Windows opens no directories, and writes them by itself."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
