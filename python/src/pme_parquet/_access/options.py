"""The options that a caller gives to fsspec, and what fsspec finds by itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pme_parquet._access.settings import secret_unread
from pme_parquet._arguments import kind
from pme_parquet._display.words import printable
from pme_parquet._kms.secrets import SecretReference
from pme_parquet._storage import scheme_of, shown
from pme_parquet.errors import BadOptionError, UnsupportedError

# The names under which fsspec also has settings of a package.
_ALSO = {
    "s3": ("s3a",),
    "s3a": ("s3",),
    "s3n": ("s3", "s3a"),
    "abfs": ("abfss", "az"),
    "abfss": ("abfs", "az"),
    "gs": ("gcs",),
}
_ENDPOINTS = ("endpoint_url", "account_host", "host")


def read(options: object, where: str) -> dict[str, Any]:
    """The options with the secrets in place of references to them.

    Raises:
        BadOptionError: they are no dict, or a secret cannot be read.
    """
    if not isinstance(options, Mapping):
        message = f"{where}: storage_options cannot be {kind(options)}. Give a dict of names and values."
        raise BadOptionError(message)
    return {name: _read(value, f"{where}: storage_options {name}") for name, value in options.items()}


def _read(value: Any, where: str) -> Any:  # noqa: ANN401 whatever fsspec takes
    if isinstance(value, SecretReference):
        return _secret(value, where)
    if isinstance(value, Mapping):
        return {name: _read(one, f"{where}.{name}") for name, one in value.items()}
    return value


def _secret(reference: SecretReference, where: str) -> str:
    if reference.scheme == "env":
        found = os.environ.get(reference.name)
        if not found:
            raise secret_unread(where, str(reference), "the variable is not set")
        return found
    if reference.scheme == "file":
        try:
            return Path(reference.name.removeprefix("//")).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as failed:
            why = getattr(failed, "strerror", None) or "it is not UTF-8"
            raise secret_unread(where, str(reference), why) from None
    raise secret_unread(where, str(reference), "only env: and file: are read without Spark")


def in_words(options: Mapping[str, Any], path: str) -> str:
    """The names of options, and the endpoint."""
    if not options:
        return defaults_in_words(path)
    return f"storage_options: {_named(options)}"


def require_no_more(options: Mapping[str, Any], scheme: str, where: str) -> None:
    """Check that fsspec adds nothing: it mixes its own settings with options.

    Raises:
        UnsupportedError: there are some.
    """
    more = _of_fsspec(scheme).keys() - options.keys()
    if more:
        raise UnsupportedError(
            f"{where}: fsspec has settings of its own for {scheme} (FSSPEC_… variables or its files), which would be "
            f"mixed with the session's: {', '.join(map(printable, sorted(more)))}. Unset them, or pass storage_options."
        )


def defaults_in_words(path: str) -> str:
    """What fsspec finds by itself: its own settings are those of FSSPEC variables and files."""
    scheme = scheme_of(path)
    if scheme is None:
        return "found by fsspec"
    more = _of_fsspec(scheme)
    return f"found by fsspec for {scheme}{f', with its settings {_named(more)}' if more else ''}"


def _of_fsspec(scheme: str) -> dict[str, Any]:
    """The settings of fsspec for a scheme, under all of its names."""
    from fsspec.config import conf  # noqa: PLC0415 slow to import

    return {name: value for one in (scheme, *_ALSO.get(scheme, ())) for name, value in (conf.get(one) or {}).items()}


def _named(options: Mapping[str, Any]) -> str:
    """No value but that of an endpoint: any other may be a secret."""
    flat = {**options, **_nested(options)}
    named = [f"{name} {printable(shown(str(flat[name])))}" for name in _ENDPOINTS if flat.get(name)]
    return ", ".join([*named, *(printable(str(name)) for name in options if name not in _ENDPOINTS)])


def _nested(options: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = options.get("client_kwargs")
    return inner if isinstance(inner, Mapping) else {}
