"""Parameters that several functions share: a path (text or `Path`) and a KMS (an object, a name or a dict of options).

Each function of the package that has such a parameter reads it with a function of this module.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from pme_parquet._kms.secrets import SecretReference
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    from pme_parquet._kms.services import Kms

    KmsLike: TypeAlias = Kms | str | Mapping[str, Any]
    """A KMS; the name of one that the session configures; or options, as `{"kms": "vault", "kms.vault.url": …}`."""

    PathLike: TypeAlias = str | os.PathLike[str]
    """A path as text, or a `pathlib.Path`."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(?!/)")


def path_of(path: PathLike, where: str) -> str:
    """The path as Spark takes it.

    Raises:
        BadOptionError: it is not a path; or it is a URL that became a `Path`, which drops a slash.
    """
    try:
        text = os.fspath(path)
    except TypeError:
        text = None
    if not isinstance(text, str) or not text:
        message = f"{where}: a path cannot be {kind(path)}. Give text or a pathlib.Path."
        raise BadOptionError(message)
    url = _URL.match(text) if isinstance(path, PurePath) else None
    if url and url[1] != "file":
        message = (
            f"{where}: '{text}' is not a valid URL: a pathlib.Path drops a slash of it. Give it as text: "
            f"'{url[1]}://…'."
        )
        raise BadOptionError(message)
    return text


def options_of(options: object, where: str) -> dict[str, str]:
    """Options as text: true and false as the format spells them, a reference to a secret as the reference."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        message = f"{where}: options cannot be {kind(options)}. Give a dict of names and values."
        raise BadOptionError(message)
    return {name: _text(name, value, where) for name, value in options.items() if value is not None}


def kms_options(kms: KmsLike | None, where: str) -> dict[str, str]:
    """The options that say where master keys are; none if the session configures that."""
    if kms is None:
        return {}
    if isinstance(kms, str):
        return {"kms": kms}
    if isinstance(kms, Mapping):
        return options_of(kms, f"{where}(kms)")
    given = getattr(kms, "options", None)
    if not callable(given) or isinstance(kms, type):
        message = (
            f"{where}: kms cannot be {kind(kms)}. Give an object such as pme.Keystore(…), the name of a KMS such as "
            '"vault", or a dict of options.'
        )
        raise BadOptionError(message)
    return dict(given())


def joined(ours: Mapping[str, str], more: Mapping[str, str], where: str) -> dict[str, str]:
    """Both together. Option names ignore case, so an option that is in both must have the same value in both.

    Raises:
        BadOptionError: an option has two values.
    """
    known = {name.lower(): value for name, value in ours.items()}
    for name, value in more.items():
        if known.get(name.lower(), value) != value:
            message = f"{where}: option {name} has two values, one in options= and one from an argument. Set it once."
            raise BadOptionError(message)
    return {**ours, **{name: value for name, value in more.items() if name.lower() not in known}}


def names_of(names: str | Iterable[str]) -> list[str]:
    """Several names, or a single one, as a list."""
    return [names] if isinstance(names, str) else list(names)


def _text(name: object, value: object, where: str) -> str:
    if not isinstance(name, str):
        message = f"{where}: the name of an option cannot be {kind(name)}. Give text."
        raise BadOptionError(message)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, SecretReference)):
        return str(value)
    if isinstance(value, os.PathLike):
        return path_of(value, f"{where}: option {name}")
    message = f"{where}: option {name} cannot be {kind(value)}. Give text."
    raise BadOptionError(message)


def kind(value: object) -> str:
    """The type of a value, and nothing else: the value may be a secret."""
    return "None" if value is None else f"a {type(value).__name__}"
