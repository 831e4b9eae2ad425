"""Changes the file of a keystore without losing a master key: one process at a time, and the whole file or nothing.

keytool works on a copy in a directory of its own. The copy replaces the store if the store still has the content that
was copied. The lock is on the store itself, so it leaves no file behind. A process that waits for the lock sees by the
file's number whether another file has the name by then.

The password is never on a command line, where other users of the machine could read it: keytool gets the name of the
environment variable or of the file that contains it.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import TYPE_CHECKING, Literal

from pme_parquet import _files
from pme_parquet._audience import Words
from pme_parquet.errors import BadOptionError, KmsUnavailableError, PmeError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pme_parquet._kms.secrets import SecretReference

_PATIENCE = 120.0
_PAUSE = 0.05
_ONLY_OWNER = 0o600
# The messages of keytool and the providers: SunJSSE about an entry and about the whole file, BouncyCastle.
_WRONG_PASSWORD = ("password was incorrect", "integrity check", "wrong password", "mac calculation")
# English, because messages are searched for words; and a charset for key names in any script.
_IN_ENGLISH = ("-J-Duser.language=en", "-J-Dfile.encoding=UTF-8", "-J-Dstdout.encoding=UTF-8")


def create(path: Path, make: Callable[[Path], None]) -> None:
    """Creates the file with what `make` writes to the given path; never replaces anything.

    Raises:
        BadOptionError: something is there, or the file cannot be created.
    """
    with _as_our_error(path, "made"):
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
    """Replaces the file by what `make` makes of a copy, while no other process changes the file.

    Raises:
        BadOptionError: it cannot be changed, for example because it belongs to another user.
        KmsUnavailableError: it has changed meanwhile, or is locked for too long.
    """
    if os.name == "nt":
        raise UnsupportedError(
            f"{path}: the keystore was not changed: Windows does not have the file locks that this needs. Use keytool."
        )
    with _as_our_error(path, "changed"):
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
def _as_our_error(path: Path, what: str) -> Iterator[None]:
    """An error of the operating system as one of ours."""
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
    """A path for keytool that no other user can guess or reach, in a place with room for the store."""
    with TemporaryDirectory(dir=place.parent, prefix=".pme-keystore-") as folder:
        yield Path(folder) / os.urandom(8).hex()


@contextmanager
def _locked(path: Path, place: Path) -> Iterator[int]:
    deadline = monotonic() + _PATIENCE
    while True:
        store = os.open(place, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            _require_one_name(path, store)
            _lock(path, store, deadline)
            if _is_still(store, place):
                yield store
                return
        finally:
            os.close(store)


def _lock(path: Path, store: int, deadline: float) -> None:
    """Waits for the lock. Closing the file releases it, and so does the end of the process, however it ends."""
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


def _require_one_name(path: Path, store: int) -> None:
    status = os.fstat(store)
    if not stat.S_ISREG(status.st_mode):
        raise BadOptionError(f"{path}: the keystore was not changed: the path is not a file. Name a keystore file.")
    if status.st_nlink > 1:
        raise BadOptionError(
            f"{path}: the keystore was not changed: it is a hard link, and its other names would not get the new keys. "
            "Make a copy, and name that."
        )


def _is_still(store: int, place: Path, before: bytes | None = None) -> bool:
    """Whether the name still leads to this file, with this content. Opening it again makes NFS ask its server."""
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


class TakenError(BadOptionError):
    """The keystore already has an entry with the name of a new key."""


def keytool_arguments(
    file: Path, name: str, password: SecretReference, which: Literal["", "src", "dest"] = ""
) -> list[str]:
    """The arguments that name a keystore's file and password, for commands on one keystore, or on two."""
    scheme, where = _password(name, password)
    return [f"-{which}keystore", str(file), f"-{which}storepass:{scheme}", where]


def run_keytool(command: list[str], name: str) -> str:
    """Runs one command and returns its output; messages call the keystore `name`."""
    done = subprocess.run(
        [_keytool(), *_IN_ENGLISH, *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        umask=0o077,
    )
    if done.returncode != 0:
        raise _failure(name, done.stdout + done.stderr)
    return done.stdout


def _failure(keystore: str, output: str) -> Exception:
    reason = re.search(r"keytool error: (?:[\w.$]+: )?(.*)", output)
    why = reason[1].strip() if reason else (output.strip().splitlines() or ["it gave no reason"])[-1]
    if any(text in output.lower() for text in _WRONG_PASSWORD):
        return KmsUnavailableError(
            f"{keystore}: the keystore cannot be opened: the password is wrong, or the file is damaged ({why}). "
            "Correct the reference to its password."
        )
    if "already exists" in why:
        return TakenError(f"{keystore}: the key was not created: {why}. Give the new key another name.")
    return KmsUnavailableError(f"{keystore}: keytool failed: {why}. Correct that, and run it again.")


def _keytool() -> str:
    home = os.environ.get("JAVA_HOME")
    in_home = Path(home) / "bin" / "keytool" if home else None
    found = str(in_home) if in_home and in_home.is_file() else shutil.which("keytool")
    if found is None:
        raise UnsupportedError(
            f"{Words('pme.Keystore')}: keytool was not found: neither JAVA_HOME nor PATH leads to a JDK or JRE. "
            "Install JDK 17, or set JAVA_HOME."
        )
    return found


def _password(keystore: str, password: SecretReference) -> tuple[str, str]:
    if password.scheme == "env" and not os.environ.get(password.name):
        raise BadOptionError(
            f"{keystore}: the password cannot be read: the environment variable {password.name} is not set. Set it."
        )
    if password.scheme == "file" and not Path(password.name).is_file():
        raise BadOptionError(
            f"{keystore}: the password cannot be read: the file {password.name} does not exist. Create it."
        )
    if password.scheme not in {"env", "file"}:
        raise UnsupportedError(
            f"{keystore}: keys cannot be created with the password {password}, which only Spark can read. Name an "
            "environment variable (env:NAME) or a file (file:PATH)."
        )
    return password.scheme, password.name
