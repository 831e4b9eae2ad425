"""Exit codes: 0 success, 1 a finding, 2 wrong use, 3 the KMS refused, 4 another failure, 130 Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._display.words import printable
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
    SnapshotConflictError,
    SnapshotDamagedError,
    SnapshotMismatchError,
    SnapshotNotAuthenticError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

FINDING = 1
WRONG_USE = 2
KMS_REFUSED = 3
FAILED = 4
INTERRUPTED = 130

_IN_THE_FILES = (
    AadPrefixError,
    AlgorithmError,
    DamagedFileError,
    KeyMetadataError,
    NotAuthenticError,
    PlaintextFileError,
    SnapshotDamagedError,
    SnapshotMismatchError,
    SnapshotNotAuthenticError,
)


_OF_THE_KMS = (KeyDeniedError, KeyNotFoundError, KmsUnavailableError)


class CommandFailedError(Exception):
    """A command failed for a reason outside the format: wrong use, Spark, the storage, or Ctrl-C.

    Attributes:
        code: the exit code of the command.
        shown: whether stderr has the message already.
    """

    def __init__(self, message: str, code: int, *, shown: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.shown = shown


def foreseen(error: Exception) -> bool:
    """Whether the error has a message of its own."""
    return isinstance(error, PmeError | CommandFailedError)


def message_of(error: Exception) -> str:
    """The text that a user sees for an error."""
    if foreseen(error):
        return str(error)
    what = printable(str(error).strip().partition("\n")[0])
    return (
        f"pme-parquet: the command failed with an unexpected error, {type(error).__name__}: {what}. If this machine is "
        "not the cause, report it. Commands with --verbose show the traceback."
    )


def document(error: Exception) -> dict[str, Any]:
    """The error as a document for `--json`."""
    return {"error": {"condition": getattr(error, "condition", ""), "message": message_of(error)}}


def code(error: Exception) -> int:
    """The exit code for an error."""
    if isinstance(error, _OF_THE_KMS):
        return KMS_REFUSED
    if isinstance(error, _IN_THE_FILES):
        return FINDING
    if isinstance(error, CommandFailedError):
        return error.code
    if isinstance(error, SnapshotConflictError):  # another process, and neither the files nor the command
        return FAILED
    return WRONG_USE if getattr(error, "condition", "") else FAILED


def of_findings(conditions: Iterable[str]) -> int:
    """The exit code for findings: a single finding in the data takes precedence over problems with keys."""
    found = set(conditions)
    if not found:
        return 0
    return KMS_REFUSED if found <= {error.condition for error in _OF_THE_KMS} else FINDING


def of_problems(messages: Iterable[str]) -> int:
    """The exit code for problems of a session, by their messages: 3 if a key is missing or denied."""
    conditions = tuple(error.condition for error in _OF_THE_KMS)
    return KMS_REFUSED if any(condition in message for message in messages for condition in conditions) else FINDING
