"""Sealing: records which files are the table, so that readers notice files that were added, removed or replaced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import joined, kind, path_of
from pme_parquet._display.words import number, size
from pme_parquet._kms.secrets import SecretReference, require_reference
from pme_parquet._operations.operation import Operation
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike

_WHERE = "pme.seal"
WHOLE_OR_NOT = (
    "the new version is there as a whole or not at all; pme.snapshots lists the versions. The data was not changed. "
    "Run it again."
)


@dataclass(frozen=True, init=False)
class MinMax:
    """An index of the smallest and largest value of columns in each file: `pme.MinMax("id", "day")`.

    Attributes:
        columns: names of leaf columns, as in `column_keys`. The values in the index are encrypted with the key of their
            column.
    """

    columns: tuple[str, ...]

    def __init__(self, *columns: str) -> None:
        names: tuple[object, ...] = columns
        if not names or not all(isinstance(name, str) and name for name in names):
            message = "pme.MinMax: an index names no column. Give the names of one or more columns."
            raise BadOptionError(message)
        object.__setattr__(self, "columns", columns)


@dataclass(frozen=True)
class Sealed:
    """The version that `seal` made. `print(sealed)` shows it.

    Attributes:
        version: its number, from 1.
        digest: SHA-256 of its manifest, in hexadecimal. Keep it to require this version in a read: `snapshot`.
        location: the directory of the snapshots.
        files: number of data files.
        rows: number of rows in them.
        bytes: their size.
        added: number of files that the version before did not list.
        removed: number of files that only the version before listed.
        replaced: number of files that have other bytes than in the version before.
        opened: number of files that were opened. What is known of the others is from the version before.
        algorithm: of the seal: `Ed25519`, `SHA256withECDSA` or `HMAC-SHA256`.
        key: the id of the signing key or, for HMAC, of the footer's master key.
    """

    version: int
    digest: str
    location: str
    files: int
    rows: int
    bytes: int
    added: int
    removed: int
    replaced: int
    opened: int
    algorithm: str
    key: str

    def __str__(self) -> str:
        changes = f"{self.added:,} added, {self.removed:,} removed, {self.replaced:,} replaced"
        counts = f"{number(self.files, 'file')} ({changes}), {number(self.rows, 'row')}"
        return (
            f"version {self.version}: {counts}, {size(self.bytes)}; sealed with {self.algorithm}, key '{self.key}'\n"
            f"digest {self.digest}\n"
            f"in {self.location}"
        )


def seal(  # noqa: PLR0913 what to seal, with which keys, and where
    spark: SparkSession,
    path: PathLike,
    *,
    kms: KmsLike | None = None,
    options: Mapping[str, Any] | None = None,
    signing: str | None = None,
    verify_key: SecretReference | None = None,
    index: Sequence[MinMax] | None = None,
    location: PathLike | None = None,
    progress: bool | None = None,
) -> Sealed:
    """Seal a table: record its files as a new version, so that reads notice added, removed and replaced files.

    A version lists every data file with its length and hashes. Its seal is a signature, or else an HMAC under the
    footer's master key: every reader who has that key can forge an HMAC, but not a signature. Files with the path and
    length that the version before lists are not opened again. The data files do not change.

    Seal again after each write to the table: until then, reads refuse it.

    Example:
        sealed = pme.seal(spark, "people", kms=keys, signing="signer", index=[pme.MinMax("id")])
        print(sealed)

    Args:
        spark: a classic session. Over Spark Connect it raises `UnsupportedError`, as the other operations do.
        path: the table's directory, with its partitions.
        kms: the KMS of the master keys and of the signing key; by default that of the session.
        options: options for reading. What they refuse, for example plaintext files, is not sealed.
        signing: the name of the signing key in the KMS. Without it, the seal is an HMAC.
        verify_key: a reference to the public key (PEM) that the version before must be signed with; by default that of
            `signing`.
        index: indexes for skipping files; an empty list for none. By default those of the version before.
        location: the directory of the snapshots, if it is not `_pme_snapshots` in the table's directory. Reads need it
            as `snapshotLocation`.
        progress: whether to show progress; by default on a terminal and in a notebook.

    Raises:
        SnapshotConflictError: another run sealed the table at the same time.
        SnapshotNotAuthenticError: the seal of the version before does not match.
        PmeError: something is wrong with the arguments, the keys or a file. No version was made.
    """
    sealing = Operation(spark, _WHERE, "Sealing", "seal")
    reading = joined(own_options(_WHERE, signing, verify_key, location), sealing.reading(kms, options), _WHERE)
    done = sealing.run(sealing.path(path), reading, _columns(index), progress=progress, interrupted=WHOLE_OR_NOT)
    return sealed_of(done)


def sealed_of(done: Any) -> Sealed:  # noqa: ANN401 py4j is untyped
    """The version that the connector made."""
    return Sealed(
        version=done.version(),
        digest=done.digest(),
        location=done.location(),
        files=done.files(),
        rows=done.rows(),
        bytes=done.bytes(),
        added=done.added(),
        removed=done.removed(),
        replaced=done.replaced(),
        opened=done.opened(),
        algorithm=done.algorithm(),
        key=done.key(),
    )


def own_options(
    where: str, signing: str | None = None, verify_key: object = None, location: PathLike | None = None
) -> dict[str, str]:
    """The arguments of a function that are options of the format."""
    own: dict[str, str] = {}
    if signing is not None:
        own["signingKey"] = signing
    if verify_key is not None:
        own["verifyKey"] = str(require_reference(verify_key, f"{where}(verify_key)"))
    if location is not None:
        own["snapshotLocation"] = path_of(location, f"{where}(location)")
    return own


def _columns(index: Sequence[MinMax] | None) -> list[str] | None:
    """The columns of all indexes; None keeps those of the version before."""
    if index is None:
        return None
    if not isinstance(index, (list, tuple)) or not all(isinstance(one, MinMax) for one in index):
        message = f'{_WHERE}: index cannot be {kind(index)}. Give a list of indexes, for example [pme.MinMax("id")].'
        raise BadOptionError(message)
    return list(dict.fromkeys(column for one in index for column in one.columns))
