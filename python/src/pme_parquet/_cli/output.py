"""What a command prints, and its exit code.

0 success, 1 a finding, 2 wrong use, 3 the KMS refused, 4 another failure, 130 Ctrl-C.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from pme_parquet._display.content import Showable
from pme_parquet._display.words import printable
from pme_parquet.errors import (
    AadPrefixError,
    AlgorithmError,
    AuditFailedError,
    DamagedFileError,
    ErasureError,
    KeyDeniedError,
    KeyDestroyedError,
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
    ErasureError,
    KeyMetadataError,
    NotAuthenticError,
    PlaintextFileError,
    SnapshotDamagedError,
    SnapshotMismatchError,
    SnapshotNotAuthenticError,
)


_OF_THE_KMS = (AuditFailedError, KeyDeniedError, KeyDestroyedError, KeyNotFoundError, KmsUnavailableError)


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


_BEGINNING = re.compile(r"\[PME_[A-Z_]+\]|pme-parquet:")
_RED, _PLAIN = "\033[1;31m", "\033[0m"


def write_error(message: str) -> None:
    """Writes a message as a line."""
    begins = _BEGINNING.match(message) if _has_colours() else None
    if begins:
        message = f"{_RED}{begins[0]}{_PLAIN}{message[begins.end() :]}"
    sys.stderr.write(f"{message}\n")


def _has_colours() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_result(shown: object, document: object, *, as_json: bool) -> None:
    """Writes a result to stdout: one JSON document, rich's tables on a terminal, or text."""
    if as_json:
        put(json.dumps(document))
        return
    shown = shown if isinstance(shown, Showable) else str(shown)
    if sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 slow to import

        Console().print(shown, markup=False, highlight=False, soft_wrap=isinstance(shown, str))
    else:
        put(str(shown))


def printable_lines(shown: object) -> str:
    """The text of a result, whose lines may contain names that others chose."""
    return "\n".join(map(printable, str(shown).splitlines()))


def put(text: str) -> None:
    """Writes to stdout. A reader such as `head` may close it early: the exit code stays the same."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except OSError as failed:
        # Otherwise Python complains at exit, when it writes the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(failed, BrokenPipeError):
            message = f"pme-parquet: the result cannot be written to stdout: {failed.strerror}. Redirect it elsewhere."
            raise CommandFailedError(message, WRONG_USE) from None
