"""How the command exits: 0 fine, 1 a finding, 2 wrong use, 3 the KMS said no, 4 storage or Spark failed, 130 Ctrl-C."""

from __future__ import annotations

from typing import Any

from pme_parquet.errors import (
    AadPrefixError,
    AlgorithmError,
    DamagedFileError,
    KeyDeniedError,
    KeyMetadataError,
    KeyNotFoundError,
    KmsUnavailableError,
    NotAuthenticError,
    PlaintextFileError,
    PmeError,
)

FINDING = 1
WRONG_USE = 2
KMS_SAID_NO = 3
FAILED = 4
INTERRUPTED = 130

_IN_THE_FILES = (
    AadPrefixError,
    AlgorithmError,
    DamagedFileError,
    KeyMetadataError,
    NotAuthenticError,
    PlaintextFileError,
)


class CommandFailedError(Exception):
    """A command failed for a reason that is none of the format's: Spark, a storage below it, or Ctrl-C.

    Attributes:
        code: how the command exits.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def told(error: Exception) -> str | None:
    """What a user is told of an error; None for one that nobody foresaw."""
    return str(error) if isinstance(error, PmeError | CommandFailedError) else None


def document(error: Exception) -> dict[str, Any]:
    """The same for `--json`."""
    return {"error": {"condition": getattr(error, "condition", ""), "message": told(error)}}


def code(error: Exception) -> int:
    """The exit code for an error."""
    if isinstance(error, KeyDeniedError | KeyNotFoundError | KmsUnavailableError):
        return KMS_SAID_NO
    if isinstance(error, _IN_THE_FILES):
        return FINDING
    if isinstance(error, CommandFailedError):
        return error.code
    return WRONG_USE if getattr(error, "condition", "") else FAILED
