"""The errors of settings that cannot be used."""

from __future__ import annotations

from pme_parquet._display.words import printable
from pme_parquet.errors import BadOptionError, UnsupportedError

_INSTEAD = "Pass storage_options instead; storage_options={} leaves everything to the package of fsspec."


def untranslated(where: str, setting: str, value: str, why: str) -> UnsupportedError:
    """A setting without a counterpart. `value` is shown, so it must not be a secret."""
    stated = f"{setting}={printable(value)}" if value else setting
    return UnsupportedError(f"{where}: the session's setting {stated} cannot be applied here: {why}. {_INSTEAD}")


def unreadable_profiles(where: str, path: str) -> BadOptionError:
    """A file of AWS's profiles that is none. Its text may hold secrets."""
    return BadOptionError(f"{where}: {printable(path)} cannot be read as a file of AWS profiles. {_INSTEAD}")


def missing(where: str, what: str, remedy: str) -> BadOptionError:
    """The session's settings are not enough to reach the storage."""
    return BadOptionError(f"{where}: the session's settings are not enough: {what}. {remedy} Or pass storage_options.")


def other_scheme(where: str, scheme: str) -> UnsupportedError:
    """A file system whose settings are not known here."""
    return UnsupportedError(
        f"{where}: a session's settings for {printable(scheme)}: cannot be applied here: they are known for s3a, abfs "
        f"and gs. {_INSTEAD}"
    )


def of_a_version(where: str, path: str) -> UnsupportedError:
    """A URL that means something else to fsspec's packages."""
    return UnsupportedError(
        f"{where}: {printable(path)} is a name for the session, but a version of an object for the package of fsspec. "
        f"{_INSTEAD}"
    )


def by_connect(where: str) -> UnsupportedError:
    """A client of Spark Connect does not see the server's settings."""
    return UnsupportedError(
        f"{where}: the settings of file systems are not visible over Spark Connect. Pass storage_options instead of "
        "spark."
    )


def no_session(where: str, kind: str) -> BadOptionError:
    """Something else than a session."""
    return BadOptionError(f"{where}: spark is {kind}. Give a Spark session.")


def in_a_provider(where: str, setting: str, keys: str) -> UnsupportedError:
    """A secret that is in a Hadoop credential provider."""
    return UnsupportedError(
        f"{where}: the session's {keys} may be in a Hadoop credential provider ({setting} is set), which is not read "
        f"here. Pass them as storage_options, with pme.env or pme.file for secrets."
    )


def not_whole(where: str, path: str, default: str) -> BadOptionError:
    """A path that Spark and this machine understand differently."""
    return BadOptionError(
        f"{where}: {printable(path)} has no scheme, and the session takes it for one of {printable(default)} "
        "(fs.defaultFS). Give the whole URL; file:/… for a local path."
    )


def secret_unread(where: str, reference: str, why: str) -> BadOptionError:
    """A reference to a secret that leads nowhere."""
    return BadOptionError(f"{where}: the secret '{printable(reference)}' cannot be read: {why}. Correct the reference.")


def mixed(where: str, scheme: str, names: list[str]) -> UnsupportedError:
    """Settings of fsspec that would be mixed with those of a session."""
    return UnsupportedError(
        f"{where}: fsspec has settings of its own for {scheme} (FSSPEC_… variables or its files), which would be mixed "
        f"with the session's: {', '.join(map(printable, names))}. Unset them, or pass storage_options."
    )
