"""What a driver knows of file systems, and the errors of settings that cannot be used here."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pme_parquet._display.words import printable
from pme_parquet.errors import BadOptionError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Harmless: TypeAlias = Mapping[str, tuple[tuple[str, ...], str]]

INSTEAD = "Pass storage_options instead; storage_options={} leaves everything to the package of fsspec."


class Settings:
    """A Hadoop configuration, and the environment of the JVM that has it. Values may be secrets."""

    def __init__(self, setting: Callable[[str], str | None], variable: Callable[[str], str | None]) -> None:
        self._setting, self._variable = setting, variable

    def get(self, name: str) -> str:
        """A setting; empty if it is not set."""
        return (self._setting(name) or "").strip()

    def named(self, name: str) -> str:
        """The whole name of the setting that applies."""
        return name

    def variable(self, name: str) -> str:
        """An environment variable; empty if it is not set."""
        return self._variable(name) or ""

    def is_set(self, name: str) -> bool:
        """Whether a setting is true."""
        return self.get(name).lower() == "true"

    def require_harmless(self, known: Harmless, where: str, *, are_secret: bool) -> None:
        """Check that no setting has a value that would change what is read.

        Raises:
            UnsupportedError: one has; the message shows the value unless it may be a secret.
        """
        for name, (harmless, why) in known.items():
            value = self.get(name)
            if value and value not in harmless:
                raise untranslated(where, self.named(name), "" if are_secret else value, why)


class Narrowed(Settings):
    """The settings of one bucket or account, which win over those of all."""

    def __init__(self, settings: Settings, own: Callable[[str], str], common: Callable[[str], str] = str) -> None:
        """`own` and `common` make the whole name of a setting: that of the one, and that of all."""
        self.settings, self._own, self._common = settings, own, common

    def get(self, name: str) -> str:
        """A setting; empty if it is not set."""
        return self.settings.get(self._own(name)) or self.settings.get(self._common(name))

    def named(self, name: str) -> str:
        """The whole name of the setting that applies."""
        own = self._own(name)
        return own if self.settings.get(own) else self._common(name)

    def variable(self, name: str) -> str:
        """An environment variable; empty if it is not set."""
        return self.settings.variable(name)


def untranslated(where: str, setting: str, value: str, why: str) -> UnsupportedError:
    """A setting without a counterpart. `value` is shown, so it must not be a secret."""
    stated = f"{setting}={printable(value)}" if value else setting
    return UnsupportedError(f"{where}: the session's setting {stated} cannot be applied here: {why}. {INSTEAD}")


def missing(where: str, what: str, remedy: str) -> BadOptionError:
    """The session's settings are not enough to reach the storage."""
    return BadOptionError(f"{where}: the session's settings are not enough: {what}. {remedy} Or pass storage_options.")


def in_a_provider(where: str, setting: str, keys: str) -> UnsupportedError:
    """A secret that is in a Hadoop credential provider."""
    return UnsupportedError(
        f"{where}: the session's {keys} may be in a Hadoop credential provider ({setting} is set), which is not read "
        f"here. Pass them as storage_options, with pme.env or pme.file for secrets."
    )


def secret_unread(where: str, reference: str, why: str) -> BadOptionError:
    """A reference to a secret that leads nowhere."""
    return BadOptionError(f"{where}: the secret '{printable(reference)}' cannot be read: {why}. Correct the reference.")
