"""A Java keystore with one AES secret key per alias: the embedded default KMS, and a way to make one."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pme_parquet._brief import Brief
from pme_parquet._hook import install_errors
from pme_parquet._secrets import SecretReference, require_reference
from pme_parquet.errors import BadOptionError, KmsUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

_BOUNCY_CASTLE = "org.bouncycastle.jce.provider.BouncyCastleProvider"
_ENTRY = re.compile(r"^Alias name: (.*)$(?:\n.*)*?\nEntry type: SecretKeyEntry$", re.MULTILINE)


@dataclass(frozen=True, repr=False)
class Keystore(Brief):
    """Master keys in a Java keystore file.

    Example:
        keys = pme.Keystore("keys.p12", password=pme.env("PME_KEYSTORE_PASSWORD"))
        keys.create(["footer", "pii", "pay"])
        spark.read.format("pme-parquet").options(**keys.options()).load(path)

    Attributes:
        path: the file. PKCS12 keeps aliases in lower case and finds them in any. Empty for PKCS11, where the session's
            `spark.datasource.pme-parquet.kms.keystore.path` names the provider's configuration.
        password: where the password is found: at least six characters, which is what keytool asks for.
        type: `PKCS12`, `PKCS11`, or any installed type, such as `BCFKS`.
        provider_path: BouncyCastle's bcprov jar, which keytool needs for BCFKS; Spark needs it on its class path.
    """

    path: str | PathLike[str]
    password: SecretReference
    type: str = "PKCS12"
    provider_path: str | PathLike[str] | None = None

    def __post_init__(self) -> None:
        require_reference(self.password, "pme.Keystore(password)")

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        install_errors()
        path = {"kms.keystore.path": os.fspath(self.path)} if self.path else {}
        return {
            "kms": "keystore",
            **path,
            "kms.keystore.type": self.type,
            "kms.keystore.password": str(self.password),
        }

    def create(self, aliases: Sequence[str], *, bits: int = 256) -> Keystore:
        """Makes the file with new random AES keys; refuses to touch one that is there."""
        if self._file.exists():
            raise BadOptionError(
                f"{self.path}: the keystore was not made, because the file exists. Use add(), or another name."
            )
        self._generate(aliases, bits)
        return self

    def add(self, *aliases: str, bits: int = 256) -> Keystore:
        """Adds new random AES keys to the file; keys that are there stay as they are."""
        self._require_file()
        self._generate(aliases, bits)
        return self

    def aliases(self) -> list[str]:
        """The names of the keys, sorted."""
        self._require_file()
        listing = self._keytool(["-list", "-v"], self._file)
        return sorted(_ENTRY.findall(listing))

    @property
    def _file(self) -> Path:
        if not self.path:
            raise BadOptionError(
                "pme.Keystore: keys cannot be made or listed, because it has no file. "
                "Use keytool, or the token's own tools."
            )
        return Path(os.fspath(self.path).removeprefix("file:"))

    def _require_file(self) -> None:
        if not self._file.is_file():
            raise KmsUnavailableError(
                f"{self.path}: the keystore cannot be opened, because there is no such file. Make it with create()."
            )

    def _generate(self, aliases: Sequence[str], bits: int) -> None:
        """All of the keys or none: they are made in a copy that then takes the file's place."""
        if isinstance(aliases, str) or not aliases:
            raise BadOptionError(
                f"{self.path}: no key was made, because the names of the keys are not a list with at least one. "
                'Give names, as in ["footer", "pii"].'
            )
        from shutil import copy2  # noqa: PLC0415 slow to import
        from tempfile import TemporaryDirectory  # noqa: PLC0415 as above

        with TemporaryDirectory(dir=self._file.absolute().parent, prefix=".keystore-") as folder:
            copy = Path(folder) / self._file.name
            if self._file.exists():
                copy2(self._file, copy)
            for alias in aliases:
                command = ["-genseckey", "-keyalg", "AES", "-keysize", str(bits), "-alias", alias]
                self._keytool(command, copy)
            copy.replace(self._file)

    def _keytool(self, command: list[str], file: Path) -> str:
        from pme_parquet import _keytool  # noqa: PLC0415 slow to import

        store = ["-storetype", self.type]
        if self.provider_path is not None:
            store += ["-providerclass", _BOUNCY_CASTLE, "-providerpath", os.fspath(self.provider_path)]
        return _keytool.run([*command, *store], file, os.fspath(self.path), self.password)
