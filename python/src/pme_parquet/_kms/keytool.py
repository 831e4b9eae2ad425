"""Runs the JDK's keytool: the one tool that every user of Spark has to make AES keys in a keystore.

The password is never on a command line, where other users of the machine could read it: keytool gets the name of the
environment variable or of the file that contains it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pme_parquet._audience import Words
from pme_parquet.errors import BadOptionError, KmsUnavailableError, UnsupportedError

if TYPE_CHECKING:
    from pme_parquet._kms.secrets import SecretReference

# The messages of keytool and the providers: SunJSSE about an entry and about the whole file, BouncyCastle.
_WRONG_PASSWORD = ("password was incorrect", "integrity check", "wrong password", "mac calculation")

# English, because messages are searched for words; and a charset for key names in any script.
_SPOKEN = ("-J-Duser.language=en", "-J-Dfile.encoding=UTF-8", "-J-Dstdout.encoding=UTF-8")


class TakenError(BadOptionError):
    """The keystore already has an entry with the name of a new key."""


def store(file: Path, name: str, password: SecretReference, which: Literal["", "src", "dest"] = "") -> list[str]:
    """The arguments that name a keystore's file and password, for commands on one keystore, or on two."""
    scheme, where = _password(name, password)
    return [f"-{which}keystore", str(file), f"-{which}storepass:{scheme}", where]


def run(command: list[str], name: str) -> str:
    """Runs one command and returns its output; messages call the keystore `name`."""
    done = subprocess.run(
        [_keytool(), *_SPOKEN, *command],
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
