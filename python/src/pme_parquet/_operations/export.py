"""Export: the indexes of a sealed table as a metadata store of Xskipper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import joined, path_of
from pme_parquet._display.words import number
from pme_parquet._operations.operation import Operation, result_of
from pme_parquet._operations.sealing import own_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike
    from pme_parquet._encryption import ColumnKeys
    from pme_parquet._kms.secrets import SecretReference

_WHERE = "pme.export_xskipper"
_INTERRUPTED = "the store before, if there was one, is as it was, or the new one is in its place. Run it again."


@dataclass(frozen=True)
class ExportedStore:
    """What `export_xskipper` wrote. `print(exported)` shows it.

    Attributes:
        location: the directory of the store.
        files: number of data files in the store.
        left_out: number of data files that are not in the store, since it cannot say of them what an index says.
            Readers of the store read these files.
        indexes: number of indexes in the store.
        not_exported: the table's other indexes, as `bloom(id)`.
    """

    location: str
    files: int
    left_out: int
    indexes: int
    not_exported: tuple[str, ...]

    def __str__(self) -> str:
        rest = f", {number(self.left_out, 'file')} left out" if self.left_out else ""
        others = f"\nnot exported: {', '.join(self.not_exported)}" if self.not_exported else ""
        indexes = "1 index" if self.indexes == 1 else f"{self.indexes} indexes"
        return f"{indexes} of {number(self.files, 'file')}{rest}, in {self.location}{others}"


def export_xskipper(  # noqa: PLR0913 what to export, with which keys, and where
    spark: SparkSession,
    path: PathLike,
    target: PathLike,
    *,
    kms: KmsLike | None = None,
    options: Mapping[str, Any] | None = None,
    index_keys: ColumnKeys | str | None = None,
    footer_key: str | None = None,
    plaintext_footer: bool = False,
    bloom_filters: bool = False,
    verify_key: SecretReference | None = None,
    location: PathLike | None = None,
) -> ExportedStore:
    """Write the min/max indexes and value lists of a sealed table as a metadata store of Xskipper, version 4.

    The store is of the newest snapshot. It replaces the store that an earlier export wrote to the same directory, in
    one step. It is encrypted if an index is. A store is not signed: whoever can write to it can hide rows from those
    who read by it.

    Export again after `pme.seal`: an export reads the indexes of the snapshot, not the data.

    Example:
        print(pme.export_xskipper(spark, "people", "xskipper/people", kms=keys))

    Args:
        spark: a classic session. Over Spark Connect it raises `UnsupportedError`, as the other operations do.
        path: the table's directory.
        target: the directory of the store: outside the table, and empty, or with an earlier export.
        kms: the KMS of the master keys; by default that of the session.
        options: options for reading.
        index_keys: master key to columns, as `column_keys`: the keys that encrypt the indexes of these columns. By
            default an index has the key that it has in the snapshot.
        footer_key: the master key of the store's footer, and of everything else in an encrypted store. By default that
            of the table.
        plaintext_footer: whether the footer is signed instead of encrypted. Columns, key ids and types are then
            readable by everybody.
        bloom_filters: whether the store also has Bloom filters, for the table's indexes of that kind on whole numbers
            and strings. They are not those of the snapshot, so all data files are read for them.
        verify_key: a reference to the public key (PEM) that the snapshot must be signed with.
        location: the directory of the snapshots, if it is not `_pme_snapshots` in the table's directory.

    Raises:
        BadOptionError: the table has no snapshot, or the target cannot be a store.
        UnsupportedError: an index has no form in a store. Nothing was written.
        SnapshotNotAuthenticError: the seal of the snapshot does not match.
        PmeError: something is wrong with the arguments, the keys or the storage.
    """
    export = Operation(spark, _WHERE, "seal.XskipperExport", "write")
    own = own_options(_WHERE, verify_key=verify_key, location=location, index_keys=index_keys)
    reading = joined(own, export.reading(kms, options), _WHERE)
    where = path_of(target, f"{_WHERE}(target)")
    done = export.run(
        export.path(path),
        where,
        reading,
        footer_key,
        plaintext_footer,
        bloom_filters,
        progress=False,
        interrupted=_INTERRUPTED,
    )
    return result_of(ExportedStore, done, not_exported=tuple(done.notExported()))
