"""The options of a command: as a user types them, from files, and as the package and fsspec take them; and their help.

The user's own file of options applies to every command. It may name classes and places of keys, so it is never looked
for in the current directory, where others may have put one, and never taken from a file that others can change.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pme_parquet._audience import COMMANDS
from pme_parquet._display.words import printable
from pme_parquet._encryption import Encryption
from pme_parquet._kms.keystore import PASSWORD_VARIABLE
from pme_parquet._kms.secrets import parse_reference
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

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
        "policykey",
        "verifykey",
    }
)


def pairs(texts: Iterable[str], where: str) -> dict[str, str]:
    """The options of several NAME=VALUE arguments."""
    return refusing_secrets(dict(pair(text, where) for text in texts), where)


def column_keys(texts: list[str], where: str = "--column-key") -> dict[str, list[str]]:
    """The columns of each master key."""
    columns: dict[str, list[str]] = {}
    for key, value in _each(texts, where, lambda text: [column.strip() for column in text.split(",")]):
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise BadOptionError(
                f"{where}: the columns of key '{printable(key)}' are neither a name nor a list of names. Write it as "
                f'{where} \'{{"KEY": ["COLUMN"]}}\'.'
            )
        columns.setdefault(key, []).extend(names)
    return columns


def master_keys(texts: list[str], where: str = "--master-key") -> dict[str, str]:
    """The new name of each master key."""
    found = dict(_each(texts, where, str))
    for old, new in found.items():
        if not isinstance(new, str):
            raise BadOptionError(
                f"{where}: the new key of '{printable(old)}' is not a name. Write it as {where} '{{\"OLD\": \"NEW\"}}'."
            )
    return found


def _each(texts: list[str], where: str, read: Callable[[str], Any]) -> Iterator[tuple[str, Any]]:
    """The entries of JSON objects and of NAME=VALUE arguments."""
    for text in texts:
        if text.lstrip().startswith("{"):
            yield from _json(text, where).items()
        else:
            name, value = pair(text, where)
            yield name, read(value)


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


def pair(text: str, where: str) -> tuple[str, str]:
    """Name and value of a NAME=VALUE argument."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        # Not repeated: it may be a secret.
        raise typer.BadParameter("a value is not of the form NAME=VALUE.", param_hint=where)
    return name.strip(), value.strip()


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


CONFIG_VARIABLE = "PME_PARQUET_CONFIG"
_CONFIG = Path("pme-parquet", "config")


def configured() -> dict[str, str]:
    """The options of the file that `PME_PARQUET_CONFIG` names, else of the one in the user's configuration directory.

    Raises:
        BadOptionError: the file cannot be used.
    """
    named = os.environ.get(CONFIG_VARIABLE)
    if named is not None:
        return _options_in(Path(named), f"{CONFIG_VARIABLE}={printable(named)}") if named else {}
    file = _of_user()
    return _options_in(file, printable(str(file))) if file is not None and file.exists() else {}


def _of_user() -> Path | None:
    """As the XDG specification says, which ignores a path that is not absolute."""
    own = Path(os.environ.get("XDG_CONFIG_HOME") or "")
    if own.is_absolute():
        return own / _CONFIG
    try:
        home = Path.home()
    except RuntimeError:  # nobody knows where it is
        return None
    return home / ".config" / _CONFIG if home.is_absolute() else None


def _options_in(file: Path, where: str) -> dict[str, str]:
    if not file.is_absolute():
        raise _refused(where, "its path is not absolute, so it depends on the current directory", "Give a full path.")
    try:
        status = file.stat()
    except OSError as failed:
        raise _refused(where, failed.strerror or "it cannot be read", f"Correct {CONFIG_VARIABLE}.") from None
    if hasattr(os, "geteuid") and status.st_uid not in {0, os.geteuid()}:
        raise _refused(where, "it belongs to another user", "Use a file of your own.")
    if os.name != "nt" and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _refused(where, "other users can change it", f"Run: chmod go-w {printable(str(file))}")
    return in_file(file, where)


def _refused(where: str, why: str, remedy: str) -> BadOptionError:
    return BadOptionError(f"{where}: the configuration file is not used: {why}. {remedy}")


# Options of s3fs, adlfs and gcsfs whose values are secrets.
_STORAGE_SECRETS = frozenset(
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


def storage_options(texts: list[str], where: str = "--storage-option") -> dict[str, Any]:
    """The options as fsspec takes them; a name with a dot is one of a dict.

    Raises:
        SecretInOptionError: a secret is written out, which every process of the machine can see.
    """
    made: dict[str, Any] = {}
    for text in texts:
        name, value = pair(text, where)
        *outer, last = name.split(".")
        inner = made
        for part in outer:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise BadOptionError(f"{where} {name}: {part} has a value of its own. Give one of the two.")
        if value.startswith(("env:", "file:")) or (last.lower() in _STORAGE_SECRETS and value not in _LOGINS):
            inner[last] = parse_reference(value, f"{where} {name}")
        else:
            inner[last] = _WORDS.get(value, value)
    return made


_SECTION = re.compile(r"^(?:Args|Attributes):\n((?: .*\n?|\n)*)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)
# A name in backticks, maybe with a value, or a text in quotes.
_CODE = re.compile(r'`(?:([\w.]+)(=[^`]*)?|"([^`]*)")`')


def help_of(function: Callable[..., Any], name: str, options: Mapping[str, str] | None = None) -> str:
    """The help of the option for a parameter.

    Args:
        function: a function, or a class, whose docstring describes the parameter.
        name: of the parameter.
        options: how the command line calls parameters.
    """
    text = dict(_entries(function))[name].removeprefix("whether to ")
    text = _CODE.sub(lambda found: _code(found, COMMANDS | dict(options or {})), text)
    return text[0].upper() + text[1:]


def _entries(function: Callable[..., Any]) -> list[tuple[str, str]]:
    section = _SECTION.search(inspect.getdoc(function) or "")
    return [(name, " ".join(text.split())) for name, text in _ENTRY.findall(section[1] if section else "")]


def _code(found: re.Match[str], options: Mapping[str, str]) -> str:
    name, value, quoted = found.groups()
    if quoted is not None:
        return f"`{quoted}`"
    return f"`{options[name]}{value or ''}`" if name in options else found[0]


_KEYS = {"footer_key": "--footer-key", "column_keys": "--column-key"}
_PANEL = "Keys and options of the format"
_KEYSTORE = "keystore"
_PASSWORD = "kms.keystore.password"  # noqa: S105 the name of an option


def _option(text: str, *names: str, **more: Any) -> Any:  # noqa: ANN401 typer does not name its type
    return typer.Option(*names, help=text, rich_help_panel=_PANEL, **more)


@dataclass(frozen=True)
class Given:
    """Where keys are and how to read, as a user types it."""

    keystore: Annotated[
        str | None,
        _option(
            f"A Java keystore with the master keys. Its password is in {PASSWORD_VARIABLE}, unless "
            "kms.keystore.password says otherwise.",
            metavar="FILE",
        ),
    ] = None
    kms: Annotated[
        str | None,
        _option("The KMS: keystore, static, vault, aws, gcp, azure, hadoop, or a class name.", envvar="PME_KMS"),
    ] = None
    option: Annotated[
        list[str],
        _option(
            "An option of the format, for example kms.keystore.path=keys.p12. Repeat it for several options.",
            "--option",
            "-o",
            metavar="NAME=VALUE",
        ),
    ] = field(default_factory=list)
    options_file: Annotated[
        Path | None,
        _option("A file with options: a JSON object, or lines NAME=VALUE.", envvar="PME_OPTIONS_FILE"),
    ] = None

    def options(self) -> dict[str, str]:
        """All options; the command line wins over the options file, and that over the user's configuration file."""
        kms = {} if self.kms is None else {"kms": self.kms}
        typed = merged(pairs(self.option, "--option"), kms)
        files = merged(configured(), in_file(self.options_file))
        return merged(files, self._of_keystore(files, typed), typed)

    def _of_keystore(self, files: Mapping[str, str], typed: Mapping[str, str]) -> dict[str, str]:
        if self.keystore is None:
            return {}
        names = {name.lower(): value for name, value in typed.items()}
        if names.get("kms", _KEYSTORE).lower() != _KEYSTORE or "kms.keystore.path" in names:
            message = "another KMS or keystore is named as well. Give one of them."
            raise typer.BadParameter(message, param_hint="--keystore")
        known = {name.lower() for name in files}
        password = {} if _PASSWORD in known else {_PASSWORD: f"env:{PASSWORD_VARIABLE}"}
        return {"kms": _KEYSTORE, "kms.keystore.path": self.keystore} | password


@dataclass(frozen=True)
class WriteKeys:
    """Which keys a write encrypts with."""

    footer_key: Annotated[str | None, _option(help_of(Encryption, "footer_key"))] = None
    column_key: Annotated[
        list[str],
        _option(
            "Master key and its columns, for example pii=ssn,address.* Use a JSON object if names contain = or "
            "commas. Repeat it for several keys.",
            metavar="KEY=COLUMN,…",
        ),
    ] = field(default_factory=list)
    uniform_key: Annotated[str | None, _option(help_of(Encryption, "uniform_key", _KEYS))] = None
    policy: Annotated[str | None, _option(help_of(Encryption, "policy", _KEYS))] = None

    def encryption(self, options: Mapping[str, str]) -> Encryption:
        """The encryption that these keys and options of a write describe."""
        return Typed(
            footer_key=self.footer_key,
            column_keys=column_keys(self.column_key) or None,
            uniform_key=self.uniform_key,
            policy=self.policy,
            typed=options,
        )


@dataclass(frozen=True)
class Typed(Encryption):
    """An encryption with some options given by name."""

    typed: Mapping[str, str] = field(default_factory=dict)

    def options(self) -> dict[str, str]:
        """The options of the format, for writing."""
        return merged(self.typed, super().options())

    def _kms_options(self) -> dict[str, str]:
        return kms_options(self.typed)


def kms_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options that say where master keys are."""
    names = ("kms", "parquet.encryption.kms.", "parquet.encryption.key.access.token", "cryptoprovider")
    return {name: value for name, value in options.items() if name.lower().startswith(names)}
