"""`pme-parquet keys`: the keys of a Java keystore."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pme_parquet._cli.looking import tell
from pme_parquet._cli.shared import Json
from pme_parquet._keystore import Keystore
from pme_parquet._secrets import parse_reference

app = typer.Typer(no_args_is_help=True, help="Make and list the keys of a Java keystore.")

File = Annotated[Path, typer.Argument(help="The keystore file.")]
Names = Annotated[list[str], typer.Argument(help="The names of the keys to make.")]
Password = Annotated[str, typer.Option(help="Where its password is found: env:NAME or file:PATH.")]
Type = Annotated[str, typer.Option("--type", help="The keystore's type.")]
Bits = Annotated[int, typer.Option(help="The keys' length: 128, 192 or 256.")]
Provider = Annotated[Path | None, typer.Option(help="BouncyCastle's bcprov jar, for BCFKS.")]
DEFAULT_PASSWORD = "env:PME_KEYSTORE_PASSWORD"  # noqa: S105 the name of a variable


@app.command()
def create(
    path: File,
    names: Names,
    password: Password = DEFAULT_PASSWORD,
    kind: Type = "PKCS12",
    bits: Bits = 256,
    provider_path: Provider = None,
    as_json: Json = False,
) -> None:
    """Make a keystore with new random AES keys: `pme-parquet keys create keys.p12 footer pii`."""
    keystore = Keystore(path, parse_reference(password, "--password"), kind, provider_path)
    _show(keystore.create(names, bits=bits), as_json=as_json)


@app.command()
def add(
    path: File,
    names: Names,
    password: Password = DEFAULT_PASSWORD,
    kind: Type = "PKCS12",
    bits: Bits = 256,
    provider_path: Provider = None,
    as_json: Json = False,
) -> None:
    """Add new random AES keys to a keystore: `pme-parquet keys add keys.p12 pay`."""
    keystore = Keystore(path, parse_reference(password, "--password"), kind, provider_path)
    _show(keystore.add(*names, bits=bits), as_json=as_json)


@app.command("list")
def list_keys(
    path: File,
    password: Password = DEFAULT_PASSWORD,
    kind: Type = "PKCS12",
    provider_path: Provider = None,
    as_json: Json = False,
) -> None:
    """List the names of the keys in a keystore: `pme-parquet keys list keys.p12`."""
    _show(Keystore(path, parse_reference(password, "--password"), kind, provider_path), as_json=as_json)


def _show(keystore: Keystore, *, as_json: bool) -> None:
    names = keystore.aliases()
    found: dict[str, Any] = {"keystore": str(keystore.path), "type": keystore.type, "keys": names}
    tell("\n".join([f"{keystore.path} ({keystore.type})", *names]), found, as_json=as_json)
