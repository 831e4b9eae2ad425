"""`pme-parquet keys`: the keys of a Java keystore."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from pme_parquet._cli.commands import Answer, Call, command
from pme_parquet._cli.docstrings import help_of
from pme_parquet._kms.keystore import PASSWORD_VARIABLE, Keystore
from pme_parquet._kms.secrets import parse_reference

File = Annotated[Path, typer.Argument(metavar="PATH", help="The keystore file.")]


@dataclass(frozen=True)
class Opening:
    """How a keystore's file is opened."""

    password: Annotated[str, typer.Option(help="Reference to its password: env:NAME or file:PATH.")] = (
        f"env:{PASSWORD_VARIABLE}"
    )
    kind: Annotated[str, typer.Option("--type", help="Type of the keystore.")] = "PKCS12"
    provider_path: Annotated[Path | None, typer.Option(help=help_of(Keystore, "provider_path"))] = None

    def keystore(self, path: Path) -> Keystore:
        """The keystore in a file, which need not exist yet."""
        return Keystore(path, parse_reference(self.password, "--password"), self.kind, self.provider_path)


@command(Keystore.create)
def create(call: Call, path: File, opening: Opening) -> Answer:
    """Create a keystore with new random AES keys: `pme-parquet keys create keys.p12 footer pii`."""
    return _answer(opening.keystore(path).create(**call.arguments))


@command(Keystore.add)
def add(call: Call, path: File, opening: Opening) -> Answer:
    """Add new random AES keys to a keystore: `pme-parquet keys add keys.p12 pay`."""
    return _answer(opening.keystore(path).add(*call["aliases"], bits=call["bits"]))


@command(Keystore.subset, password="target_password")  # noqa: S106 the name of an option
def subset(
    call: Call, source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The keystore file.")], opening: Opening
) -> Answer:
    """Create a keystore with only some of the keys, for a colleague.

    `pme-parquet keys subset keys.p12 analyst.p12 footer --target-password env:ANALYST_PASSWORD`

    Without --target-password, whoever gets the new keystore knows the password of the source.
    """
    return _answer(opening.keystore(source).subset(**call.arguments))


@command(Keystore.aliases)
def list_(_: Call, path: File, opening: Opening) -> Answer:
    """List the names of the keys in a keystore: `pme-parquet keys list keys.p12`."""
    return _answer(opening.keystore(path))


def _answer(keystore: Keystore) -> Answer:
    names = keystore.aliases()
    found = {"keystore": str(keystore.path), "type": keystore.type, "keys": names}
    return Answer("\n".join([f"{keystore.path} ({keystore.type})", *names]), found)
