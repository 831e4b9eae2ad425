"""Parses options, keys and columns that are written on a command line or in a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from pme_parquet._display.words import printable
from pme_parquet._kms.secrets import parse_reference
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

_PREFIXES = ("spark.datasource.pme-parquet.", "spark.hadoop.pme-parquet.", "spark.hadoop.")

# Options that hold references to secrets. A literal secret is refused before Spark starts, because Spark's processes
# show their arguments.
SECRETS = frozenset(
    {
        "kms.keystore.password",
        "kms.static.keys",
        "kms.vault.token",
        "kms.vault.secretid",
        "kms.vault.jwt",
        "kms.gcp.credentials",
        "kms.azure.clientsecret",
        "parquet.encryption.key.access.token",
        "verifykey",
    }
)


def pairs(texts: Iterable[str], where: str) -> dict[str, str]:
    """The options of several NAME=VALUE arguments."""
    return refusing_secrets(dict(pair(text, where) for text in texts), where)


def column_keys(texts: list[str], where: str = "--column-key") -> dict[str, list[str]]:
    """The columns of each master key, from --column-key or an option like it."""
    columns: dict[str, list[str]] = {}
    for text in texts:
        for key, names in _json_or(text, lambda text: _column_key(text, where), where):
            columns.setdefault(key, []).extend(_columns(key, names, where))
    return columns


def master_keys(texts: list[str]) -> dict[str, str] | None:
    """The new name of each master key, from --master-key."""
    found = dict(pair for text in texts for pair in _json_or(text, _master_key, "--master-key"))
    for old, new in found.items():
        if not isinstance(new, str):
            raise BadOptionError(
                f"--master-key: the new key of '{printable(old)}' is not a name. Write it as --master-key "
                '\'{"OLD": "NEW"}\'.'
            )
    return found if texts else None


def in_file(path: Path | None, where: str = "--options-file") -> dict[str, str]:
    """The options in a file, as JSON or as lines. Messages call the place that names it `where`."""
    if path is None:
        return {}
    hint, where = where, f"{where} {path}" if where.startswith("--") else where
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as failed:
        reason = getattr(failed, "strerror", None) or "it is not UTF-8"
        raise typer.BadParameter(f"{path} cannot be read: {reason}.", param_hint=hint) from None
    if text.lstrip().startswith("{"):
        values = _json(text, where)
        return refusing_secrets({name: _text(value) for name, value in values.items()}, where)
    lines = (line.strip() for line in text.splitlines())
    return pairs([line for line in lines if line and not line.startswith(("#", "!"))], where)


def merged(*several: Mapping[str, str]) -> dict[str, str]:
    """Both together; the later wins. Names are compared as the format compares them, without case."""
    found: dict[str, tuple[str, str]] = {}
    for options in several:
        found |= {name.lower(): (name, value) for name, value in options.items()}
    return dict(found.values())


def refusing_secrets(options: dict[str, str], where: str) -> dict[str, str]:
    """The same options, after a check that they contain no literal secret.

    Raises:
        SecretInOptionError: an option that must hold a reference to a secret holds something else.
    """
    for name, value in options.items():
        short = name.lower()
        for prefix in _PREFIXES:
            short = short.removeprefix(prefix)
        if short in SECRETS:
            parse_reference(value, f"{where} {name}")
    return options


def _column_key(text: str, where: str) -> tuple[str, list[str]]:
    key, columns = pair(text, where)
    return key, [column.strip() for column in columns.split(",")]


def _columns(key: str, names: Any, where: str) -> list[str]:  # noqa: ANN401 of JSON
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadOptionError(
            f"{where}: the columns of key '{printable(key)}' are neither a name nor a list of names. Write it as "
            f'{where} \'{{"KEY": ["COLUMN"]}}\'.'
        )
    return names


def _master_key(text: str) -> tuple[str, str]:
    return pair(text, "--master-key")


def pair(text: str, where: str) -> tuple[str, str]:
    """Name and value of a NAME=VALUE argument."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        # Not repeated: it may be a secret.
        raise typer.BadParameter("a value is not of the form NAME=VALUE.", param_hint=where)
    return name.strip(), value.strip()


def _json_or(text: str, pair: Callable[[str], tuple[str, Any]], where: str) -> Iterator[tuple[str, Any]]:
    """The pairs of a JSON object, or else the single pair."""
    yield from _json(text, where).items() if text.lstrip().startswith("{") else [pair(text)]


def _json(text: str, where: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError as wrong:
        at = (
            f"line {wrong.lineno}, column {wrong.colno}" if isinstance(wrong, json.JSONDecodeError) else "the beginning"
        )
        raise typer.BadParameter(f"this is not JSON, at {at}.", param_hint=where) from None
    return found


def _text(value: Any) -> str:  # noqa: ANN401 of JSON
    return value if isinstance(value, str) else json.dumps(value)
