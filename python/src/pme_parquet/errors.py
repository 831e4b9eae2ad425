"""The errors of pme-parquet: one class per condition, all of them `PmeError`.

The conditions and the form of a message, *where: what, because why. What to do.*, are those of the connector
(docs/errors.md). `_hook` turns the connector's exceptions into these.
"""

from __future__ import annotations

from typing import Any, ClassVar


class PmeError(Exception):
    """A failure that you can cause or cure.

    Attributes:
        condition: the stable name of what went wrong, e.g. `PME_KEY_NOT_FOUND`; empty where it is none of ours, as when
            a storage fails.
        message: *where: what, because why. What to do.*, beginning with the condition in brackets.
        java_exception: the connector's exception, where the failure came from a JVM in this process.
        spark_error: the exception PySpark would have raised, with Spark's own story and stack trace.
        report: what was done with each file, where several were worked on and some failed (`pme.rotate`).
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
    """An option has a value it cannot have, or two options exclude each other."""

    condition = "PME_BAD_OPTION"


class UnknownOptionError(PmeError):
    """An option's name is not known; the message names the nearest one."""

    condition = "PME_UNKNOWN_OPTION"


class SecretInOptionError(PmeError):
    """A secret is written out where a reference to a secret belongs; the message does not repeat it."""

    condition = "PME_SECRET_IN_OPTION"


class NoKeyError(PmeError):
    """Nothing says which key to use."""

    condition = "PME_NO_KEY"


class UnknownColumnError(PmeError):
    """A column pattern matches nothing; the message lists the candidates."""

    condition = "PME_UNKNOWN_COLUMN"


class KeyNotFoundError(PmeError):
    """The KMS has no key of that name."""

    condition = "PME_KEY_NOT_FOUND"


class KeyDeniedError(PmeError):
    """The KMS refuses this reader or writer the key."""

    condition = "PME_KEY_DENIED"


class KmsUnavailableError(PmeError):
    """The KMS cannot be reached or read."""

    condition = "PME_KMS_UNAVAILABLE"


class NotAuthenticError(PmeError):
    """Wrong key, other AAD, or tampering: GCM cannot tell which."""

    condition = "PME_NOT_AUTHENTIC"


class AadPrefixError(PmeError):
    """The AAD prefix is missing, or is not the one that was asked for."""

    condition = "PME_AAD_PREFIX"


class AlgorithmError(PmeError):
    """A file's encryption algorithm is not the one that was asked for."""

    condition = "PME_ALGORITHM"


class PlaintextFileError(PmeError):
    """A file without encryption where encrypted ones are expected."""

    condition = "PME_PLAINTEXT_FILE"


class DamagedFileError(PmeError):
    """A file is not what the Parquet format says it should be."""

    condition = "PME_DAMAGED_FILE"


class KeyMetadataError(PmeError):
    """Key metadata or key material cannot be used, or a column is under another key than `columnKeys` names."""

    condition = "PME_KEY_METADATA"


class UnsupportedError(PmeError):
    """This version cannot do what was asked for."""

    condition = "PME_UNSUPPORTED"


BY_CONDITION: dict[str, type[PmeError]] = {error.condition: error for error in PmeError.__subclasses__()}
"""Every condition of the contract, with its class."""
