"""`pme-parquet keys`: the keys of a Java keystore."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from pme_parquet._cli.groups import HELP, Json, grouped
from pme_parquet._cli.output import print_result
from pme_parquet._kms.keystore import PASSWORD_VARIABLE, Keystore
from pme_parquet._kms.secrets import parse_reference

app = typer.Typer(no_args_is_help=True, context_settings=HELP, help="Create and list keys in a Java keystore.")

File = Annotated[Path, typer.Argument(help="The keystore file.")]
Names = Annotated[list[str], typer.Argument(help="Names of the keys to create.")]
Bits = Annotated[int, typer.Option(help="Length of the keys: 128, 192 or 256.")]


@dataclass(frozen=True)
class Opening:
    """How a keystore's file is opened."""

    password: Annotated[str, typer.Option(help="Reference to its password: env:NAME or file:PATH.")] = (
        f"env:{PASSWORD_VARIABLE}"
    )
    kind: Annotated[str, typer.Option("--type", help="Type of the keystore.")] = "PKCS12"
    provider_path: Annotated[Path | None, typer.Option(help="Path of BouncyCastle's bcprov jar, for BCFKS.")] = None

    def keystore(self, path: Path) -> Keystore:
        """The keystore in a file, which need not exist yet."""
        return Keystore(path, parse_reference(self.password, "--password"), self.kind, self.provider_path)


@app.command()
@grouped
def create(path: File, names: Names, opening: Opening, bits: Bits = 256, as_json: Json = False) -> None:
    """Create a keystore with new random AES keys: `pme-parquet keys create keys.p12 footer pii`."""
    _show(opening.keystore(path).create(names, bits=bits), as_json=as_json)


@app.command()
@grouped
def add(path: File, names: Names, opening: Opening, bits: Bits = 256, as_json: Json = False) -> None:
    """Add new random AES keys to a keystore: `pme-parquet keys add keys.p12 pay`."""
    _show(opening.keystore(path).add(*names, bits=bits), as_json=as_json)


@app.command()
@grouped
def subset(
    source: File,
    target: Annotated[Path, typer.Argument(help="The new keystore file.")],
    names: Annotated[list[str], typer.Argument(help="Names of the keys that it gets.")],
    opening: Opening,
    target_password: Annotated[
        str | None,
        typer.Option(help="Reference to the password of the new keystore. Default: that of the source."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Create a keystore with only some of the keys, for a colleague.

    `pme-parquet keys subset keys.p12 analyst.p12 footer --target-password env:ANALYST_PASSWORD`

    Without --target-password, whoever gets the new keystore knows the password of the source.
    """
    password = None if target_password is None else parse_reference(target_password, "--target-password")
    _show(opening.keystore(source).subset(target, names, password=password), as_json=as_json)


@app.command("list")
@grouped
def list_keys(path: File, opening: Opening, as_json: Json = False) -> None:
    """List the names of the keys in a keystore: `pme-parquet keys list keys.p12`."""
    _show(opening.keystore(path), as_json=as_json)


def _show(keystore: Keystore, *, as_json: bool) -> None:
    names = keystore.aliases()
    found: dict[str, Any] = {"keystore": str(keystore.path), "type": keystore.type, "keys": names}
    print_result("\n".join([f"{keystore.path} ({keystore.type})", *names]), found, as_json=as_json)
