"""Dropping indexes: the next version of a sealed table is without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import joined
from pme_parquet._arguments import kind as kind_of
from pme_parquet._operations.indexes import KINDS
from pme_parquet._operations.operation import Operation
from pme_parquet._operations.sealing import own_options, sealed_of, whole_or_not
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike
    from pme_parquet._kms.secrets import SecretReference
    from pme_parquet._operations.sealing import Sealed

_WHERE = "pme.drop_index"


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
    dropping = Operation(spark, _WHERE, "seal.Sealing", "dropIndexes")
    names: tuple[object, ...] = columns
    if not names or not all(isinstance(name, str) and name for name in names):
        message = f"{_WHERE}: it names no column. Give the names of one or more columns; pme.describe_index lists them."
        raise BadOptionError(message)
    given: object = kind
    if given is not None and given not in KINDS:
        shown = f"'{given}'" if isinstance(given, str) else kind_of(given)
        raise BadOptionError(f"{_WHERE}: kind cannot be {shown}. Give one of {', '.join(KINDS)}.")
    reading = joined(own_options(_WHERE, signing, verify_key, location), dropping.reading(kms, options), _WHERE)
    done = dropping.run(dropping.path(path), reading, list(columns), kind, progress=None, interrupted=whole_or_not())
    return sealed_of(done)
