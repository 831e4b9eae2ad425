"""What a check of an Iceberg table reads at most."""

from __future__ import annotations

from pme_parquet._logs.bounds import UnreadableError

MAX_TEXT = 8 * 1024


def text(value: object, what: str) -> str:
    """A text of a document.

    Raises:
        UnreadableError: it is none, or longer than `MAX_TEXT`.
    """
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise UnreadableError(f"its {what} is no text, or a very long one")
    return value
