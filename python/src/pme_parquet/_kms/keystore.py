"""A Java keystore with one AES secret key per alias: the default KMS, and how to create one."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pme_parquet._audience import Words
from pme_parquet._display.brief import Brief
from pme_parquet._display.words import printable
from pme_parquet._kms.secrets import SecretReference, require_reference
from pme_parquet._spark.errors import install_errors
from pme_parquet.errors import BadOptionError, KeyNotFoundError, KmsUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike

# What commands read a password from by default.
PASSWORD_VARIABLE = "PME_KEYSTORE_PASSWORD"  # noqa: S105 the name of a variable
_BOUNCY_CASTLE = "org.bouncycastle.jce.provider.BouncyCastleProvider"
_ENTRY = re.compile(r"^Alias name: (.*)$", re.MULTILINE)
_SECRET_KEY = re.compile(r"^Entry type: SecretKeyEntry$", re.MULTILINE)


@dataclass(frozen=True, repr=False)
class Keystore(Brief):
    """Master keys in a Java keystore file.

    Example:
        keys = pme.Keystore("keys.p12", password=pme.env("PME_KEYSTORE_PASSWORD"))
        keys.create(["footer", "pii", "pay"])
        spark.read.format("pme-parquet").options(**keys.options()).load(path)

    Attributes:
        path: the file. PKCS12 stores aliases in lower case; other names are refused. Empty for PKCS11, where the
            session's `spark.datasource.pme-parquet.kms.keystore.path` names the configuration of the provider.
        password: reference to the password. keytool requires at least six characters.
        type: `PKCS12`, `PKCS11`, or any installed type, such as `BCFKS`.
        provider_path: path of BouncyCastle's bcprov jar, which keytool needs for BCFKS; Spark needs it on its class
            path.
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
        """Create the file with new random AES keys. An existing file is an error.

        Args:
            aliases: names of the keys to create.
            bits: length of the keys: 128, 192 or 256.

        Raises:
            BadOptionError: the file exists or cannot be created, or a name cannot be used.
        """
        names = self._names(aliases)
        self._create(lambda draft: self._generate(draft, names, bits))
        return self

    def add(self, *aliases: str, bits: int = 256) -> Keystore:
        """Add new random AES keys to the file, either all or none. Existing keys do not change.

        The file is locked while keys are added, so that concurrent calls do not lose keys. Links are followed.

        Args:
            aliases: names of the keys to create.
            bits: length of the keys: 128, 192 or 256.

        Raises:
            BadOptionError: a name exists or cannot be used, or the file cannot be changed.
            KmsUnavailableError: the file cannot be opened, or another program changed it at the same time.
        """
        from pme_parquet._kms import keystore_file  # noqa: PLC0415 slow to import

        names = self._names(aliases)
        self._require_file()
        keystore_file.change(self._file, lambda draft: self._generate(draft, names, bits))
        return self

    def subset(
        self, target: str | PathLike[str], aliases: Sequence[str], *, password: SecretReference | None = None
    ) -> Keystore:
        """Create another keystore that has only some of the keys, for a colleague. An existing file is an error.

        Args:
            target: the new file.
            aliases: the keys that it gets.
            password: reference to its password; by default that of this keystore, which the colleague then knows.

        Raises:
            KeyNotFoundError: this keystore does not have a key. No file is created.
            BadOptionError: the file exists or cannot be created, or a name cannot be used.
        """
        names = self._names(aliases)
        there = self.aliases()
        for name in names:
            if name not in there:
                raise KeyNotFoundError(
                    f"{self.path}: no keystore was created: there is no key {printable(repr(name))}. The keys are: "
                    f"{', '.join(map(printable, there))}."
                )
        made = replace(self, path=target, password=password or self.password)
        made._create(lambda draft: made._take(self, draft, names))  # noqa: SLF001 of this class
        return made

    def aliases(self) -> list[str]:
        """The names of the keys, sorted."""
        self._require_file()
        return sorted(alias for alias, is_secret_key in self._entries(self._file).items() if is_secret_key)

    @property
    def _file(self) -> Path:
        if not self.path:
            raise BadOptionError(
                f"{Words('pme.Keystore')}: keys cannot be created or listed: this keystore has no file. Use "
                "keytool, or the tools of the token."
            )
        return Path(os.fspath(self.path).removeprefix("file:"))

    def _create(self, make: Callable[[Path], None]) -> None:
        from pme_parquet._kms import keystore_file  # noqa: PLC0415 as above

        if self._file.is_dir():
            raise BadOptionError(keystore_is_directory(self.path, "created"))
        keystore_file.create(self._file, make)

    def _require_file(self) -> None:
        if not self._file.is_file():
            if self._file.is_dir():
                raise KmsUnavailableError(keystore_is_directory(self.path, "opened"))
            why = "it is a link to a file that does not exist" if self._file.is_symlink() else "there is no such file"
            raise KmsUnavailableError(
                f"{self.path}: the keystore cannot be opened: {why}. Correct the path, or create the keystore."
            )

    def _names(self, aliases: Sequence[str]) -> list[str]:
        if isinstance(aliases, str) or not aliases:
            raise BadOptionError(
                f"{self.path}: no key was created: the names of the keys are not a list with at least one name. Give "
                'names, for example ["footer", "pii"].'
            )
        for alias in aliases:
            if not alias.strip() or not alias.isprintable():
                raise self._refused(alias, "it is empty, or has characters that cannot be printed")
            if list(aliases).count(alias) > 1:
                raise self._refused(alias, "it is given twice")
        return list(aliases)

    def _generate(self, draft: Path, names: list[str], bits: int) -> None:
        """Creates keys in a copy of the file. The copy must then have them under the requested names."""
        before = self._entries(draft) if draft.exists() else {}
        there = list(before)
        for alias in names:
            self._generate_one(draft, alias, bits, there)
            there.append(alias)
        after = self._entries(draft)
        for alias in names:
            if after.get(alias) is not True:
                stored = _in_other_letters(alias, after)
                kept = f"'{printable(stored)}'" if stored else "another one"
                raise self._refused(alias, f"a keystore of type {self.type} would store it as {kept}")
        if before.items() - after.items() or len(after) != len(before) + len(names):
            raise KmsUnavailableError(
                f"{self.path}: no key was created: keytool changed other keys. Use another JDK, and report this."
            )

    def _generate_one(self, draft: Path, alias: str, bits: int, there: list[str]) -> None:
        from pme_parquet._kms import keystore_file  # noqa: PLC0415 as above

        stored = alias if alias in there else None
        if stored is None:
            try:
                self._keytool(["-genseckey", "-keyalg", "AES", "-keysize", str(bits), "-alias", alias], draft)
            except keystore_file.TakenError:
                stored = _in_other_letters(alias, there)
            else:
                return
        shown = f"'{printable(stored)}'" if stored else "it"
        raise self._refused(alias, f"{shown} already exists in the keystore")

    def _take(self, source: Keystore, draft: Path, names: list[str]) -> None:
        """Copies keys into a new file, which must then have these and nothing else."""
        from pme_parquet._kms import keystore_file  # noqa: PLC0415 as above

        path, name = os.fspath(source.path), os.fspath(self.path)
        stores = [
            *keystore_file.keytool_arguments(source._file, path, source.password, "src"),
            *keystore_file.keytool_arguments(draft, name, self.password, "dest"),
            *("-srcstoretype", self.type, "-deststoretype", self.type),
        ]
        for alias in names:
            keystore_file.run_keytool(
                ["-importkeystore", "-noprompt", "-srcalias", alias, *stores, *self._provider()], name
            )
        after = self._entries(draft)
        if after != dict.fromkeys(names, True):
            raise KmsUnavailableError(
                f"{name}: no keystore was created: keytool copied other keys than {', '.join(map(printable, names))}. "
                "Use another JDK, and report this."
            )

    def _refused(self, alias: str, why: str) -> BadOptionError:
        return BadOptionError(
            f"{self.path}: no key was created: the name {printable(repr(alias))} cannot be used: {why}. Give the new "
            "key another name."
        )

    def _entries(self, file: Path) -> dict[str, bool]:
        """All entries of the file, and whether each is a secret key."""
        _, *parts = _ENTRY.split(self._keytool(["-list", "-v"], file))
        return {alias: bool(_SECRET_KEY.search(kind)) for alias, kind in zip(parts[::2], parts[1::2], strict=True)}

    def _keytool(self, command: list[str], file: Path) -> str:
        from pme_parquet._kms import keystore_file  # noqa: PLC0415 as above

        name = os.fspath(self.path)
        store = [
            *keystore_file.keytool_arguments(file, name, self.password),
            "-storetype",
            self.type,
            *self._provider(),
        ]
        return keystore_file.run_keytool([*command, *store], name)

    def _provider(self) -> list[str]:
        if self.provider_path is None:
            return []
        return ["-providerclass", _BOUNCY_CASTLE, "-providerpath", os.fspath(self.provider_path)]


def keystore_is_directory(path: str | PathLike[str], what: str) -> str:
    """The message for a directory that is named in place of a keystore's file."""
    name = printable(os.fspath(path))
    return f"{name}: the keystore cannot be {what}: it is a directory. Name a file in it: {name.rstrip('/')}/keys.p12."


def _in_other_letters(alias: str, stored: Iterable[str]) -> str | None:
    return next((other for other in stored if other.casefold() == alias.casefold()), None)
