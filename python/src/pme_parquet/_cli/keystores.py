"""`pme-parquet keys`: the keys of a Java keystore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pme_parquet._cli.commands import Answer, Call, command
from pme_parquet._cli.groups import Opening
from pme_parquet._kms.keystore import Keystore

if TYPE_CHECKING:
    from collections.abc import Sequence

File = Annotated[Path, typer.Argument(metavar="PATH", help="The keystore file.")]


@command(Keystore.create)
def create(call: Call, path: File) -> Answer:
    """Create a keystore with new random AES keys: `pme-parquet keys create keys.p12 footer pii`."""
    return _answer(_keystore(call, path).create(**call.arguments), call["aliases"])


@command(Keystore.add)
def add(call: Call, path: File) -> Answer:
    """Add new random AES keys to a keystore: `pme-parquet keys add keys.p12 pay`."""
    store = _keystore(call, path).add(*call["aliases"], bits=call["bits"])
    return _answer(store, store.aliases())


@command(Keystore.subset, password="target_password")  # noqa: S106 the name of an option
def subset(call: Call, source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The keystore file.")]) -> Answer:
    """Create a keystore with only some of the keys, for a colleague.

    `pme-parquet keys subset keys.p12 analyst.p12 footer --target-password env:ANALYST_PASSWORD`

    Without --target-password, whoever gets the new keystore knows the password of the source.
    """
    return _answer(_keystore(call, source).subset(**call.arguments), call["aliases"])


@command(Keystore.aliases)
def list_(call: Call, path: File) -> Answer:
    """List the names of the keys in a keystore: `pme-parquet keys list keys.p12`."""
    store = _keystore(call, path)
    return _answer(store, store.aliases())


def _keystore(call: Call, path: Path) -> Keystore:
    opening: Opening = call.groups[Opening]
    return opening.keystore(path)


def _answer(keystore: Keystore, names: Sequence[str]) -> Answer:
    """Names all its keys: a new keystore was listed before it got its path, and has those that were asked for."""
    names = sorted(names)
    found = {"keystore": str(keystore.path), "type": keystore.type, "keys": names}
    return Answer("\n".join([f"{keystore.path} ({keystore.type})", *names]), found)
