"""Bounded reading of the log's JSON. Anyone who can write to the storage can write these files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pme_parquet._logs.bounds import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_LINE = 16 * 1024 * 1024


def document(text: str | bytes) -> Any:  # noqa: ANN401 of JSON
    """The value of a JSON text.

    Raises:
        UnreadableError: it is not JSON, too long, too deep, or has a field twice.
    """
    if len(text) > MAX_LINE:
        raise UnreadableError(f"it has more than {MAX_LINE >> 20} MiB in one document")
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):  # also of UTF-8, and of numbers with thousands of digits
        raise UnreadableError("it is not valid JSON") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        # Readers differ in which one they take.
        raise ValueError
    return found


def lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | UnreadableError]]:
    """The documents of a file, one on each line, with the line's number."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            whole = len(line) <= MAX_LINE
            while not line.endswith(b"\n") and (more := file.readline(MAX_LINE)):
                line = b"\n" if more.endswith(b"\n") else b" "
            if not whole:
                yield number, UnreadableError(f"it has more than {MAX_LINE >> 20} MiB in one document")
            elif line.strip():
                yield number, _object(line)


def _object(line: bytes) -> dict[str, Any] | UnreadableError:
    try:
        found = document(line)
    except UnreadableError as unreadable:
        return unreadable
    return found if isinstance(found, dict) else UnreadableError("it is not a JSON object")
