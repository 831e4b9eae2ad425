"""A keystore for the examples. It is created on first use, with its password in a file that only you can read."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pme_parquet as pme

if TYPE_CHECKING:
    from pathlib import Path


def keystore(directory: Path) -> pme.Keystore:
    """Return the keystore in the directory, with the master keys ``footer`` and ``pii``.

    The password is next to it only because this is an example: keep yours where only the driver can read it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    password = directory / "password"
    path = directory / "keys.p12"
    keys = pme.Keystore(str(path), password=pme.file(str(password)))
    if not path.exists():
        password.touch(mode=0o600)
        password.write_text(secrets.token_urlsafe(24))
        keys.create(["footer", "pii"])
    return keys
