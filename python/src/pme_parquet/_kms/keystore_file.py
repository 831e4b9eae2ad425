"""The file of a keystore, changed so that no master key is lost: by one process at a time, and whole or not at all.

keytool works on a copy in a directory of its own. The copy takes the store's place if the store is still what was
copied. The lock is on the store itself, so it leaves no file behind, and whoever waits for it sees by the file's number
that another file has the name since.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import TYPE_CHECKING

from pme_parquet import _files
from pme_parquet.errors import BadOptionError, KmsUnavailableError, PmeError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PATIENCE = 120.0
_PAUSE = 0.05
_ONLY_OWNER = 0o600


def create(path: Path, make: Callable[[Path], None]) -> None:
    """Makes the file by what `make` writes at the path it is given; never in the place of something.

    Raises:
        BadOptionError: something is there, or it cannot be made there.
    """
    with _told(path, "made"):
        if os.path.lexists(path):
            raise _is_there(path)
        place = _files.real(path.parent) / path.name
        with _draft(place) as draft:
            make(draft)
            content = draft.read_bytes()
        try:
            _files.create(place, content, mode=_ONLY_OWNER)
        except FileExistsError:
            raise _is_there(path) from None


def change(path: Path, make: Callable[[Path], None]) -> None:
    """Replaces the file by what `make` makes of the copy it is given, while nobody else changes the file.

    Raises:
        BadOptionError: it cannot be changed, as where it is not this user's.
        KmsUnavailableError: it is another file than it was, or is locked for too long.
    """
    if os.name == "nt":
        raise UnsupportedError(
            f"{path}: the keystore was not changed: Windows does not have the file locks that this needs. Use keytool."
        )
    with _told(path, "changed"):
        place = _files.real(path)
        with _locked(path, place) as store:
            before = _content(store)
            with _draft(place) as draft:
                draft.touch(_ONLY_OWNER, exist_ok=False)
                draft.write_bytes(before)
                make(draft)
                after = draft.read_bytes()
            if _files.real(path) != place or not _is_still(store, place, before):
                raise KmsUnavailableError(
                    f"{path}: the keystore was not changed: another program changed or moved it at the same time. Run "
                    "it again."
                )
            _files.replace(place, after, like=store)


@contextmanager
def _told(path: Path, what: str) -> Iterator[None]:
    """What the operating system refuses, in our words."""
    try:
        yield
    except PmeError:
        raise
    except OSError as failed:
        raise BadOptionError(
            f"{path}: the keystore was not {what}: the operating system refused: {failed.strerror or failed}. Choose a "
            "path on a local disk with write permission."
        ) from failed


@contextmanager
def _draft(place: Path) -> Iterator[Path]:
    """A path for keytool that nobody else can foresee or reach, where there is room for the store."""
    with TemporaryDirectory(dir=place.parent, prefix=".pme-keystore-") as folder:
        yield Path(folder) / os.urandom(8).hex()


@contextmanager
def _locked(path: Path, place: Path) -> Iterator[int]:
    deadline = monotonic() + _PATIENCE
    while True:
        store = os.open(place, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            _require_alone(path, store)
            _lock(path, store, deadline)
            if _is_still(store, place):
                yield store
                return
        finally:
            os.close(store)


def _lock(path: Path, store: int, deadline: float) -> None:
    """Waits for who has it. Closing the file gives it back, and so does the end of the process, however it ends."""
    from fcntl import LOCK_EX, LOCK_NB, flock  # noqa: PLC0415 not on Windows

    while True:
        with suppress(BlockingIOError):
            return flock(store, LOCK_EX | LOCK_NB)
        if monotonic() > deadline:
            raise KmsUnavailableError(
                f"{path}: the keystore was not changed: another process has been changing it for too long. Stop that "
                "process, and run this again."
            )
        sleep(_PAUSE)


def _require_alone(path: Path, store: int) -> None:
    status = os.fstat(store)
    if not stat.S_ISREG(status.st_mode):
        raise BadOptionError(f"{path}: the keystore was not changed: the path is not a file. Name a keystore file.")
    if status.st_nlink > 1:
        raise BadOptionError(
            f"{path}: the keystore was not changed: it is a hard link, and its other names would not get the new keys. "
            "Make a copy, and name that."
        )


def _is_still(store: int, place: Path, before: bytes | None = None) -> bool:
    """Whether the name leads to this file, with this content. It is opened again, which makes NFS ask its server."""
    try:
        now = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    try:
        return os.path.sameopenfile(store, now) and before in {None, _content(now)}
    finally:
        os.close(now)


def _content(store: int) -> bytes:
    with os.fdopen(os.dup(store), "rb") as file:
        file.seek(0)
        return file.read()


def _is_there(path: Path) -> BadOptionError:
    what = (
        ("there is a link to a file that does not exist")
        if path.is_symlink() and not path.exists()
        else "the file exists"
    )
    return BadOptionError(
        f"{path}: the keystore was not created: {what}. Choose another name, or add keys to the existing keystore."
    )
