"""Options of a storage on the command line: names and values, and references in place of secrets."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pme_parquet._cli.parsing import pair
from pme_parquet._kms.secrets import parse_reference
from pme_parquet.errors import BadOptionError

StorageOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option",
        metavar="NAME=VALUE",
        help="An option of fsspec for the storage, for example endpoint_url=http://127.0.0.1:9000, or "
        "secret=env:NAME. A secret must be a reference: env:NAME or file:PATH. Repeat it for several options.",
    ),
]

# Options of s3fs, adlfs and gcsfs whose values are secrets.
_SECRETS = frozenset(
    {
        "secret",
        "token",
        "password",
        "account_key",
        "sas_token",
        "client_secret",
        "connection_string",
        "aws_secret_access_key",
        "aws_session_token",
    }
)
# Values of gcsfs's token that say how to log in.
_LOGINS = frozenset({"anon", "browser", "cache", "cloud", "google_default"})
_WORDS = {"true": True, "false": False}


def storage_options(texts: list[str] | None) -> dict[str, Any] | None:
    """The options as fsspec takes them; a name with a dot is one of a dict. None without any.

    Raises:
        SecretInOptionError: a secret is written out, which every process of the machine can see.
    """
    if not texts:
        return None
    made: dict[str, Any] = {}
    for text in texts:
        name, value = pair(text, "--storage-option")
        *outer, last = name.split(".")
        inner = made
        for part in outer:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                message = f"--storage-option {name}: {part} has a value of its own. Give one of the two."
                raise BadOptionError(message)
        inner[last] = _value(name, last, value)
    return made


def _value(name: str, last: str, value: str) -> Any:  # noqa: ANN401 whatever fsspec takes
    if value.startswith(("env:", "file:")) or (last.lower() in _SECRETS and value not in _LOGINS):
        return parse_reference(value, f"--storage-option {name}")
    return _WORDS.get(value, value)
