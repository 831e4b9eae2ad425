"""The command `pme-parquet`. Exit 0 fine, 1 a finding, 2 wrong use, 3 the KMS said no."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pme_parquet._inspect import Inspection
from pme_parquet._inspect import inspect as look
from pme_parquet._keystore import Keystore
from pme_parquet._secrets import parse_reference
from pme_parquet.errors import KeyDeniedError, KeyNotFoundError, KmsUnavailableError, PmeError

FINDING = 1
WRONG_USE = 2
KMS_SAID_NO = 3

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Encrypted Parquet: keys, and what files tell.")
keys = typer.Typer(no_args_is_help=True, help="Make and list the keys of a Java keystore.")
app.add_typer(keys, name="keys")

File = Annotated[Path, typer.Argument(help="The keystore file.")]
Names = Annotated[list[str], typer.Argument(help="The names of the keys to make.")]
Password = Annotated[str, typer.Option(help="Where its password is found: env:NAME or file:PATH.")]
Type = Annotated[str, typer.Option("--type", help="The keystore's type.")]
Bits = Annotated[int, typer.Option(help="The keys' length: 128, 192 or 256.")]
Provider = Annotated[Path | None, typer.Option(help="BouncyCastle's bcprov jar, for BCFKS.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DEFAULT_PASSWORD = "env:PME_KEYSTORE_PASSWORD"  # noqa: S105 the name of a variable


@app.callback()
def root() -> None:
    """Encrypted Parquet: keys, and what files tell."""


@app.command()
def inspect(
    path: Annotated[str, typer.Argument(help="A file or a table's directory; a path or a URL.")],
    as_json: Json = False,  # noqa: FBT002 typer's way to say flag
) -> None:
    """Tell which keys protect what, without a key: `pme-parquet inspect s3://bucket/people`.

    Exit 1 if something is wrong: plaintext among encrypted files, a damaged file, key material that is missing.
    """
    _inspect(path, as_json=as_json)


def _inspect(path: str, *, as_json: bool) -> None:
    report = look(path)
    if as_json:
        typer.echo(json.dumps(report.to_dict()))
    else:
        _print(report)
    if report.findings:
        raise SystemExit(FINDING)


@keys.command()
def create(
    path: File,
    names: Names,
    password: Password = DEFAULT_PASSWORD,
    kind: Type = "PKCS12",
    bits: Bits = 256,
    provider_path: Provider = None,
    as_json: Json = False,  # noqa: FBT002 typer's way to say flag
) -> None:
    """Make a keystore with new random AES keys."""
    keystore = Keystore(path, parse_reference(password, "--password"), kind, provider_path)
    _show(keystore.create(names, bits=bits), as_json=as_json)


@keys.command()
def add(
    path: File,
    names: Names,
    password: Password = DEFAULT_PASSWORD,
    kind: Type = "PKCS12",
    bits: Bits = 256,
    provider_path: Provider = None,
    as_json: Json = False,  # noqa: FBT002 as above
) -> None:
    """Add new random AES keys to a keystore."""
    keystore = Keystore(path, parse_reference(password, "--password"), kind, provider_path)
    _show(keystore.add(*names, bits=bits), as_json=as_json)


@keys.command("list")
def list_keys(
    path: File,
    password: Password = DEFAULT_PASSWORD,
    kind: Type = "PKCS12",
    provider_path: Provider = None,
    as_json: Json = False,  # noqa: FBT002 as above
) -> None:
    """List the names of the keys in a keystore."""
    _show(Keystore(path, parse_reference(password, "--password"), kind, provider_path), as_json=as_json)


def _show(keystore: Keystore, *, as_json: bool) -> None:
    names = keystore.aliases()
    found: dict[str, Any] = {"keystore": str(keystore.path), "type": keystore.type, "keys": names}
    typer.echo(json.dumps(found) if as_json else "\n".join([f"{keystore.path} ({keystore.type})", *names]))


def _print(report: Inspection) -> None:
    """Tables on a terminal, plain lines elsewhere."""
    if sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 slow to import

        Console().print(report)
    else:
        typer.echo(str(report))


def main() -> None:
    """Runs the command; a `PmeError` becomes its message and an exit code."""
    try:
        match sys.argv[1:]:
            # Looking at a file takes less time than typer takes to make its commands of these functions.
            case ["inspect", path] if not path.startswith("-"):
                _inspect(path, as_json=False)
            case ["inspect", "--json", path] | ["inspect", path, "--json"] if not path.startswith("-"):
                _inspect(path, as_json=True)
            case _:
                app()
    except PmeError as error:
        typer.echo(str(error), err=True)
        said_no = isinstance(error, KeyDeniedError | KeyNotFoundError | KmsUnavailableError)
        raise SystemExit(KMS_SAID_NO if said_no else WRONG_USE) from None
