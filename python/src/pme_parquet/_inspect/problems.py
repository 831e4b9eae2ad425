"""The texts of findings, in the connector's words: *where: what, because why. What to do*."""

from __future__ import annotations

from pme_parquet._audience import Words
from pme_parquet.errors import (
    AadPrefixError,
    DamagedFileError,
    KeyMetadataError,
    NotAuthenticError,
    PlaintextFileError,
    PmeError,
    SnapshotMismatchError,
    UnsupportedError,
)


def damaged(file: str, why: str) -> PmeError:
    """The file does not have the form of a Parquet file."""
    return DamagedFileError(f"{file}: the Parquet file is damaged: {why}. Restore it from its source.")


def not_followed(link: str) -> PmeError:
    """Whoever can write to a table could show files of another place with a link."""
    return PmeError(
        f"{link}: it is a symbolic link, which was not followed, so what is there was not looked at. Readers of the "
        "table follow it. Inspect the place that it leads to, or replace the link by files."
    )


def orc_damaged(file: str, why: str) -> PmeError:
    """The file does not have the form of an ORC file."""
    return DamagedFileError(f"{file}: the ORC file is damaged: {why}. Restore it from its source.")


def orc_unknown(file: str, why: str) -> PmeError:
    """Inspection cannot read this file; ORC's reader may."""
    return UnsupportedError(f"{file}: the ORC file was not read: {why}. Read it with Spark.")


def too_long(file: str, length: int, most: int) -> PmeError:
    """Python would take too long for this footer."""
    return UnsupportedError(
        f"{file}: its footer was not read: it is {length} bytes long, and reading more than {most} is too slow in "
        f"Python. Use {Words('pme.key_usage')}, which runs in the JVM."
    )


def aad_prefix(file: str, why: str) -> PmeError:
    """Readers refuse what the file says about its AAD."""
    return AadPrefixError(
        f"{file}: its AAD is not reliable: {why}. Restore the file, or have its writer write it again."
    )


def no_signature(file: str) -> PmeError:
    """A readable footer of an encrypted file without a signature: anyone can have written it."""
    return NotAuthenticError(
        f"{file}: its footer cannot be authenticated: it has encrypted columns but no signature. Restore the file."
    )


def key_metadata(where: str, why: str) -> PmeError:
    """Key metadata or key material that readers refuse."""
    return KeyMetadataError(
        f"{where}: the key metadata cannot be used: {why}. Check how the file was written, and that its key material "
        "is complete."
    )


def not_as_listed(where: str, version: int, listed: str, found: str) -> PmeError:
    """The files of a table are not those that its newest snapshot lists."""
    return SnapshotMismatchError(
        f"{where}: version {version} lists {listed}, but the table has {found}. Readers refuse the table. Find out who "
        f"changed its files. If the change was intended, seal the table again with {Words('pme.seal')}."
    )


def plaintext(file: str, encrypted: int) -> PmeError:
    """A plaintext file among encrypted ones."""
    return PlaintextFileError(
        f"{file}: the file is not encrypted, but {encrypted} of the table {'is' if encrypted == 1 else 'are'}. Find "
        "out who wrote it."
    )
