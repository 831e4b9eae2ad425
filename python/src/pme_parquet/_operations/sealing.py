"""Sealing: records which files are the table, so that readers notice changes; drops indexes, and old versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import joined, path_of
from pme_parquet._arguments import kind as kind_of
from pme_parquet._audience import Words
from pme_parquet._display.words import number, size
from pme_parquet._encryption import column_keys_text
from pme_parquet._kms.secrets import SecretReference, require_reference
from pme_parquet._operations.indexes import KINDS, classes_of, requests_of
from pme_parquet._operations.operation import Operation, result_of
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike
    from pme_parquet._encryption import ColumnKeys
    from pme_parquet._operations.indexes import AnyIndex

_WHERE = Words("pme.seal")
_DROPPING = "pme.drop_index"
_EXPIRING = "pme.expire_snapshots"
_EXPIRY_INTERRUPTED = (
    "some old versions are deleted. The newest one is there, and the data was not changed. Run it again to continue."
)
_MOST_KEPT = 2**31 - 1


def whole_or_not() -> str:
    """The state of a table after Ctrl-C."""
    return (
        f"the new version is there as a whole or not at all; {Words('pme.snapshots')} lists the versions. The data was "
        "not changed. Run it again."
    )


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
        table: the id that all versions of this table have.
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
    table: str

    @property
    def pin(self) -> str:
        """What a reader gives as `minSnapshot` to refuse other tables, other histories and older versions."""
        return f"{self.table}:{self.version}"

    def __str__(self) -> str:
        changes = f"{self.added:,} added, {self.removed:,} removed, {self.replaced:,} replaced"
        counts = f"{number(self.files, 'file')} ({changes}), {number(self.rows, 'row')}"
        return (
            f"version {self.version}: {counts}, {size(self.bytes)}; sealed with {self.algorithm}, key '{self.key}'\n"
            f"digest {self.digest}\n"
            f"in {self.location}\n"
            f"readers require it with minSnapshot={self.pin}"
        )


def seal(  # noqa: PLR0913 what to seal, with which keys, and where
    spark: SparkSession,
    path: PathLike,
    *,
    kms: KmsLike | None = None,
    options: Mapping[str, Any] | None = None,
    signing: str | None = None,
    verify_key: SecretReference | None = None,
    index: Sequence[AnyIndex] | None = None,
    index_keys: ColumnKeys | str | None = None,
    location: PathLike | None = None,
    expect: int | str | None = None,
    progress: bool | None = None,
) -> Sealed:
    """Seal a table: record its files as a new version, so that reads notice added, removed and replaced files.

    A version lists every data file with its length and hashes. Its seal is a signature, or else an HMAC under the
    footer's master key: every reader who has that key can forge an HMAC, but not a signature. Files with the path,
    length and modification time that the version before lists are not opened again. The data files do not change.

    A write to a sealed table seals it again by itself. This function is for the first version, for indexes, and for
    files that something else has changed. It vouches for these files, so it continues only if `expect` confirms them.
    The error names them.

    Example:
        index = [pme.MinMax("day"), pme.Bloom("id", fpp=0.01), pme.ValueList("country", max=64)]
        sealed = pme.seal(spark, "people", kms=keys, signing="signer", index=index, expect="unsealed")
        print(sealed)

    Args:
        spark: a classic session. Over Spark Connect it raises `UnsupportedError`, as the other operations do.
        path: the table's directory, with its partitions.
        kms: the KMS of the master keys and of the signing key; by default that of the session.
        options: options for reading. What they refuse, for example plaintext files, is not sealed.
        signing: the name of the signing key in the KMS. Without it, the seal is an HMAC under the footer's master key,
            which readers can forge.
        verify_key: a reference to the public key (PEM) that the version before must be signed with; by default that of
            `signing`.
        index: indexes for skipping files: `MinMax`, `ValueList`, `Bloom`, `IndexClass`. An empty list for none; by
            default those of the version before.
        index_keys: master key to columns, as `column_keys`: the key that the indexes of a column are encrypted with. By
            default the key of the version before, or else that of the column. Anyone who may use another key can
            skip files by the index, and learns what it contains, without being able to read the column.
        location: the directory of the snapshots, if it is not `_pme_snapshots` in the table's directory. Reads need it
            as `snapshotLocation`.
        expect: confirms the files that were added, removed or replaced since the version before. `"unsealed"`: there is
            no version, and all files are right. The number of these files, or the version before: its number,
            `"<table id>:<version>"`, or at least 12 digits of its digest. Not needed where nothing has changed.
        progress: whether to show progress; by default on a terminal and in a notebook.

    Raises:
        SnapshotMismatchError: files have changed since the version before, and `expect` does not confirm it.
        SnapshotConflictError: another run sealed the table at the same time.
        SnapshotNotAuthenticError: the seal of the version before does not match.
        PmeError: something is wrong with the arguments, the keys or a file. No version was made.
    """
    sealing = Operation(spark, _WHERE, "seal.Sealing", "seal")
    requests = requests_of(index, _WHERE)
    own = own_options(_WHERE, signing, verify_key, location, index_keys)
    # Whoever asks for an index of a class allows that class by it.
    classes = classes_of(index)
    own |= {} if classes is None else {"indexClasses": classes}
    reading = joined(own, sealing.reading(kms, options), _WHERE)
    confirmed = _confirmed(expect)
    done = sealing.run(sealing.path(path), reading, requests, confirmed, progress=progress, interrupted=whole_or_not())
    return result_of(Sealed, done)


def _confirmed(expect: object) -> str | None:
    if expect is None:
        return None
    if isinstance(expect, (int, str)) and not isinstance(expect, bool):
        return str(expect)
    message = f"{_WHERE}: expect is a {type(expect).__name__}, and must be a number or a text."
    raise BadOptionError(message)


def changes_to_seal(  # noqa: PLR0913 as `seal`
    spark: SparkSession,
    path: PathLike,
    *,
    options: Mapping[str, Any] | None = None,
    signing: str | None = None,
    verify_key: SecretReference | None = None,
    location: PathLike | None = None,
) -> list[str]:
    """What `seal` with these arguments would vouch for beyond the version before.

    Returns:
        The `expect` that confirms exactly this, and then a line for each file; empty if nothing has changed.
    """
    review = Operation(spark, _WHERE, "seal.Sealing", "review")
    own = own_options(_WHERE, signing, verify_key, location)
    return list(review.call(review.path(path), joined(own, review.reading(None, options), _WHERE)))


def own_options(
    where: str,
    signing: str | None = None,
    verify_key: object = None,
    location: PathLike | None = None,
    index_keys: ColumnKeys | str | None = None,
) -> dict[str, str]:
    """The arguments of a function that are options of the format."""
    own: dict[str, str] = {}
    if signing is not None:
        own["signingKey"] = signing
    if verify_key is not None:
        own["verifyKey"] = str(require_reference(verify_key, f"{where}(verify_key)"))
    if location is not None:
        own["snapshotLocation"] = path_of(location, f"{where}(location)")
    if index_keys is not None:
        own["indexKeys"] = column_keys_text(index_keys, f"{where}(index_keys)")
    return own


def require_seal(where: str, signing: str | None, *, seal: bool) -> None:
    """Fail if a function that seals what it writes only if asked to is given a key to sign with, and not asked."""
    if signing is not None and not seal:
        message = f"{where}: signing names a key, and seal is not set. Set seal=True, or remove signing."
        raise BadOptionError(message)


def of_target(writing: dict[str, str]) -> dict[str, str]:
    """The options that say where keys are, without requirements: those of the source's columns are only names here."""
    return {name: value for name, value in writing.items() if not _is_of_write(name)}


def _is_of_write(name: str) -> bool:
    return name.lower() in {"footerkey", "columnkeys", "uniformkey", "unlistedcolumns", "plaintextfooter"}


def drop_index(  # noqa: PLR0913 what to drop, with which keys, and where
    spark: SparkSession,
    path: PathLike,
    *columns: str,
    kind: str | None = None,
    kms: KmsLike | None = None,
    options: Mapping[str, Any] | None = None,
    signing: str | None = None,
    verify_key: SecretReference | None = None,
    location: PathLike | None = None,
) -> Sealed:
    """Seal a table again, without the indexes of some columns.

    The other indexes stay. Only files that the version before does not list are opened. The keys of the columns whose
    indexes are dropped are not needed.

    Example:
        pme.drop_index(spark, "people", "id", kind="bloom", kms=keys)

    Args:
        spark: a classic session. Over Spark Connect it raises `UnsupportedError`, as the other operations do.
        path: the table's directory.
        columns: names of the columns.
        kind: only indexes of this kind: `minMax`, `valueList`, `bloom` or `class`. By default all indexes of the
            columns.
        kms: as for `seal`.
        options: as for `seal`.
        signing: as for `seal`.
        verify_key: as for `seal`.
        location: as for `seal`.

    Returns:
        The new version.

    Raises:
        UnknownColumnError: a column has no index, or none of this kind. No version was made.
        SnapshotConflictError: another run sealed the table at the same time.
        SnapshotNotAuthenticError: the seal of the version before does not match.
        PmeError: something is wrong with the arguments, the keys or a file. No version was made.
    """
    dropping = Operation(spark, _DROPPING, "seal.Sealing", "dropIndexes")
    names: tuple[object, ...] = columns
    if not names or not all(isinstance(name, str) and name for name in names):
        message = (
            f"{_DROPPING}: it names no column. Give the names of one or more columns; pme.describe_index lists them."
        )
        raise BadOptionError(message)
    given: object = kind
    if given is not None and given not in KINDS:
        shown = f"'{given}'" if isinstance(given, str) else kind_of(given)
        raise BadOptionError(f"{_DROPPING}: kind cannot be {shown}. Give one of {', '.join(KINDS)}.")
    reading = joined(own_options(_DROPPING, signing, verify_key, location), dropping.reading(kms, options), _DROPPING)
    done = dropping.run(dropping.path(path), reading, list(columns), kind, progress=None, interrupted=whole_or_not())
    return result_of(Sealed, done)


@dataclass(frozen=True)
class ExpiredSnapshots:
    """What `expire_snapshots` deleted. `print(expired)` shows it.

    Attributes:
        versions: number of versions.
        parts: number of files of their lists and of their indexes.
    """

    versions: int
    parts: int

    def __str__(self) -> str:
        return f"deleted {number(self.versions, 'version')} and {number(self.parts, 'part')}"


def expire_snapshots(  # noqa: PLR0913 what to expire, with which keys, and where
    spark: SparkSession,
    path: PathLike,
    *,
    keep: int,
    kms: KmsLike | None = None,
    options: Mapping[str, Any] | None = None,
    location: PathLike | None = None,
) -> ExpiredSnapshots:
    """Delete old versions of a sealed table, and the parts of their lists that no other version needs.

    Data files do not change, and the newest version always stays. The seals of all versions that stay are checked
    first: if one does not match, nothing is deleted. Files that no version names are left for 24 hours, because another
    process may be sealing the table.

    Example:
        print(pme.expire_snapshots(spark, "people", keep=10, kms=keys))

    Args:
        spark: a classic session. Over Spark Connect it raises `UnsupportedError`, as the other operations do.
        path: the table's directory.
        keep: number of newest versions that stay, at least 1.
        kms: the KMS of the master keys; by default that of the session.
        options: options for reading. A signed table needs its `verifyKey`.
        location: the directory of the snapshots, if it is not `_pme_snapshots` in the table's directory.

    Raises:
        BadOptionError: the table has no snapshot, or `keep` is not a number from 1.
        SnapshotNotAuthenticError: the seal of a version that stays does not match. Nothing was deleted.
        PmeError: something is wrong with the arguments, the keys or the storage.
    """
    expiry = Operation(spark, _EXPIRING, "seal.SnapshotVersions", "expire")
    given: object = keep
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        shown = str(given) if isinstance(given, int) else kind_of(given)
        message = f"{_EXPIRING}: keep cannot be {shown}. Give the number of newest versions to keep, at least 1."
        raise BadOptionError(message)
    reading = joined(own_options(_EXPIRING, location=location), expiry.reading(kms, options), _EXPIRING)
    done = expiry.run(
        expiry.path(path), reading, min(keep, _MOST_KEPT), progress=False, interrupted=_EXPIRY_INTERRUPTED
    )
    return result_of(ExpiredSnapshots, done)
