"""The errors of pme-parquet: one class per condition, all of them `PmeError`.

The conditions, and the form of a message, *where: what happened: why. What to do.*, are those of the connector
(docs/errors.md). `_spark.errors` turns exceptions of the connector into these.
"""

from __future__ import annotations

from typing import Any, ClassVar


class PmeError(Exception):
    """A failure that users can cause or fix.

    Attributes:
        condition: the stable name of the failure, e.g. `PME_KEY_NOT_FOUND`; empty for other failures, for example of
            a storage.
        message: *where: what happened: why. What to do.*, after the condition in brackets.
        java_exception: the exception of the connector, if it came from a JVM in this process.
        spark_error: the exception that PySpark would have raised, with Spark's message and stack trace.
        report: the result for each file, if an operation on several files failed for some (`pme.rotate`).
    """

    condition: ClassVar[str] = ""
    java_exception: Any = None
    spark_error: BaseException | None = None
    report: Any = None

    def __init__(self, message: str) -> None:
        self.message = message if message.startswith("[PME_") or not self.condition else f"[{self.condition}] {message}"
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


class BadOptionError(PmeError):
    """An option or argument has an invalid value, or two options contradict each other."""

    condition = "PME_BAD_OPTION"


class UnknownOptionError(PmeError):
    """There is no option of this name; the message suggests the nearest one."""

    condition = "PME_UNKNOWN_OPTION"


class SecretInOptionError(PmeError):
    """The value of an option is a secret and not a reference to it; the message does not repeat it."""

    condition = "PME_SECRET_IN_OPTION"


class NoKeyError(PmeError):
    """A write names no key, or a file without key metadata is read without naming its key."""

    condition = "PME_NO_KEY"


class UnknownColumnError(PmeError):
    """A column pattern matches no column; the message lists the columns."""

    condition = "PME_UNKNOWN_COLUMN"


class KeyNotFoundError(PmeError):
    """The KMS does not have the master key, or the key cannot be used."""

    condition = "PME_KEY_NOT_FOUND"


class KeyDestroyedError(PmeError):
    """The master key was destroyed, or will be: its KMS no longer uses it."""

    condition = "PME_KEY_DESTROYED"


class ErasureError(PmeError):
    """An erasure would destroy the key of other rows, or leave some readable, or could not be proved."""

    condition = "PME_ERASURE"


class KeyDeniedError(PmeError):
    """The KMS does not let this user use the master key."""

    condition = "PME_KEY_DENIED"


class KmsUnavailableError(PmeError):
    """The KMS or the keystore cannot be reached or opened, or a secret cannot be read."""

    condition = "PME_KMS_UNAVAILABLE"


class AuditFailedError(PmeError):
    """With `audit=require`, the use of a master key cannot be recorded, so the key is not given out."""

    condition = "PME_AUDIT_FAILED"


class NotAuthenticError(PmeError):
    """An AES-GCM tag does not match: wrong key, wrong AAD, or altered data."""

    condition = "PME_NOT_AUTHENTIC"


class AadPrefixError(PmeError):
    """The AAD prefix is missing, or is not the expected one."""

    condition = "PME_AAD_PREFIX"


class AlgorithmError(PmeError):
    """The reader does not accept the encryption algorithm of a file."""

    condition = "PME_ALGORITHM"


class PlaintextFileError(PmeError):
    """A file or column is not encrypted where encryption is expected."""

    condition = "PME_PLAINTEXT_FILE"


class DamagedFileError(PmeError):
    """A file is not a complete, valid Parquet file."""

    condition = "PME_DAMAGED_FILE"


class KeyMetadataError(PmeError):
    """Key metadata or key material cannot be used, or a column has another key than `columnKeys` names."""

    condition = "PME_KEY_METADATA"


class UnsupportedError(PmeError):
    """This version cannot do this, or refuses it as unsafe."""

    condition = "PME_UNSUPPORTED"


class SnapshotMismatchError(PmeError):
    """A sealed table has other files than its snapshot lists, or it has no snapshot where one is required."""

    condition = "PME_SNAPSHOT_MISMATCH"


class SnapshotNotAuthenticError(PmeError):
    """The seal of a snapshot does not match, or the snapshot belongs to another table or is too old."""

    condition = "PME_SNAPSHOT_NOT_AUTHENTIC"


class SnapshotDamagedError(PmeError):
    """A file of a snapshot is missing or cut, or its content contradicts itself."""

    condition = "PME_SNAPSHOT_DAMAGED"


class SnapshotConflictError(PmeError):
    """Two processes sealed a table at the same time, and the other one made the version."""

    condition = "PME_SNAPSHOT_CONFLICT"


BY_CONDITION: dict[str, type[PmeError]] = {error.condition: error for error in PmeError.__subclasses__()}
"""Every condition of the contract, with its class."""
