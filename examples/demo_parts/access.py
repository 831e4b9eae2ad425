"""The demo's two readers: one keystore has every master key, the other lacks ``pii``."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pme_parquet as pme

if TYPE_CHECKING:
    from pathlib import Path

MASTER_KEYS = ["footer", "pii", "pay"]


class People(NamedTuple):
    """The keystores of the demo's two readers."""

    owner: pme.Keystore
    analyst: pme.Keystore


def create_keystores(directory: Path) -> People:
    """Create the owner's keystore with fresh keys, and a copy of it without ``pii`` for the analyst."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    password = directory / "password"
    password.touch(mode=0o600)
    password.write_text(secrets.token_urlsafe(24))

    # The options of a read or write carry `file:...`, never the password: Spark prints options in plans.
    owner_path, analyst_path = directory / "owner.p12", directory / "analyst.p12"
    owner = pme.Keystore(str(owner_path), password=pme.file(str(password)))
    owner.create(MASTER_KEYS)
    shutil.copy(owner_path, analyst_path)
    forget(analyst_path, "pii", password)
    return People(owner, pme.Keystore(str(analyst_path), password=pme.file(str(password))))


def forget(keystore: Path, alias: str, password: Path) -> None:
    """Delete one key from a keystore, with the JDK's own tool."""
    subprocess.run(
        ["keytool", "-delete", "-alias", alias, "-keystore", str(keystore), "-storepass:file", str(password)],  # noqa: S607
        check=True,
        capture_output=True,
    )
