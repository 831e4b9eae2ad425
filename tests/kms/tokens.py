"""Tokens of SoftHSM2, whose keys cannot be taken out, for `kms=keystore` with the type `PKCS11`.

SoftHSM reads its settings once in a process, so a process has one folder of tokens.
"""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pme_parquet as pme
from tests.kms.access import KEYS, secret
from tests.support.java import java
from tests.support.session import SOFTHSM_CONF

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOL = "softhsm2-util"
LIBRARIES = ("/usr/lib/softhsm/libsofthsm2.so", "/usr/lib64/softhsm/libsofthsm2.so", "/usr/lib64/pkcs11/libsofthsm2.so")
PIN = "482913"
PATH = "spark.datasource.pme-parquet.kms.keystore.path"


class Tokens(NamedTuple):
    """Configurations of SunPKCS11, each for a token of its own, and the folder they are in."""

    folder: Path
    full: Path
    closed: Path


@contextmanager
def made(folder: Path) -> Iterator[Tokens]:
    """Make a token with keys, and one that nobody in this JVM is logged in to."""
    (folder / "tokens").mkdir()
    SOFTHSM_CONF.write_text(f"directories.tokendir = {folder}/tokens\nobjectstore.backend = file\nlog.level = ERROR\n")
    try:
        tokens = Tokens(folder, _token(folder, "full"), _token(folder, "closed"))
        for alias in KEYS:
            generate(tokens.full, alias)
        yield tokens
    finally:
        SOFTHSM_CONF.unlink()


def _token(folder: Path, label: str) -> Path:
    pins = ["--pin", PIN, "--so-pin", PIN]
    command = [TOOL, "--init-token", "--free", "--label", label, *pins]
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=_environment()).stdout
    [slot] = re.findall(r"slot (\d+)$", said.strip())
    [library, *_] = [path for path in LIBRARIES if Path(path).exists()]
    configuration = folder / f"{label}.cfg"
    kept = "attributes(*, CKO_SECRET_KEY, CKK_AES) = {\n  CKA_SENSITIVE = true\n  CKA_EXTRACTABLE = false\n}\n"
    configuration.write_text(f"name = {label}\nlibrary = {library}\nslot = {slot}\n{kept}")
    return configuration


def generate(configuration: Path, alias: str) -> None:
    """Make a key in a token."""
    command = [str(java().with_name("keytool")), "-genseckey", "-keyalg", "AES", "-keysize", "256", "-alias", alias]
    store = ["-storetype", "PKCS11", "-keystore", "NONE", "-providerClass", "sun.security.pkcs11.SunPKCS11"]
    given = ["-providerArg", str(configuration), "-storepass:env", "PIN"]
    subprocess.run([*command, *store, *given], check=True, capture_output=True, env=_environment() | {"PIN": PIN})


def _environment() -> dict[str, str]:
    return dict(os.environ) | {"SOFTHSM2_CONF": str(SOFTHSM_CONF)}


def by_pin(tokens: Tokens, pin: str = PIN) -> pme.Keystore:
    """Return the token that the session names, opened by this PIN."""
    return pme.Keystore("", password=secret(tokens.folder, pin), type="PKCS11")
