"""The options of the format as a user gives them on the command line, and the keys of a write."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pme_parquet._cli.configuration import configured
from pme_parquet._cli.parsing import column_keys, in_file, merged, pairs
from pme_parquet._encryption import Encryption
from pme_parquet._kms.keystore import PASSWORD_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

_PANEL = "Keys and options of the format"
_KEYSTORE = "keystore"
_PASSWORD = "kms.keystore.password"  # noqa: S105 the name of an option


@dataclass(frozen=True)
class Given:
    """Where keys are and how to read, as a user types it."""

    keystore: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help=f"A Java keystore with the master keys. Its password is in {PASSWORD_VARIABLE}, unless "
            "kms.keystore.password says otherwise.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    kms: Annotated[
        str | None,
        typer.Option(
            help="The KMS: keystore, static, vault, aws, gcp, azure, hadoop, or a class name.",
            envvar="PME_KMS",
            rich_help_panel=_PANEL,
        ),
    ] = None
    option: Annotated[
        list[str],
        typer.Option(
            "--option",
            "-o",
            metavar="NAME=VALUE",
            help="An option of the format, for example kms.keystore.path=keys.p12. Repeat it for several options.",
            rich_help_panel=_PANEL,
        ),
    ] = field(default_factory=list)
    options_file: Annotated[
        Path | None,
        typer.Option(
            help="A file with options: a JSON object, or lines NAME=VALUE.",
            envvar="PME_OPTIONS_FILE",
            rich_help_panel=_PANEL,
        ),
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

    footer_key: Annotated[
        str | None,
        typer.Option(
            help=("Master key of the footer and of columns without a key of their own."), rich_help_panel=_PANEL
        ),
    ] = None
    column_key: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=COLUMN,…",
            help=(
                "Master key and its columns, for example pii=ssn,address.* Use a JSON object if names contain = or "
                "commas. Repeat it for several keys."
            ),
            rich_help_panel=_PANEL,
        ),
    ] = field(default_factory=list)
    uniform_key: Annotated[
        str | None,
        typer.Option(
            help=("One master key for everything, instead of --footer-key and --column-key."), rich_help_panel=_PANEL
        ),
    ] = None

    def encryption(self, options: Mapping[str, str]) -> Encryption:
        """The encryption that these keys and options of a write describe."""
        return Typed(
            footer_key=self.footer_key,
            column_keys=column_keys(self.column_key) or None,
            uniform_key=self.uniform_key,
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


@dataclass(frozen=True)
class TypedKms:
    """A KMS given by its options."""

    typed: Mapping[str, str]

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        return dict(self.typed)


def kms_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options that say where master keys are."""
    names = ("kms", "parquet.encryption.kms.", "parquet.encryption.key.access.token", "cryptoprovider")
    return {name: value for name, value in options.items() if name.lower().startswith(names)}
