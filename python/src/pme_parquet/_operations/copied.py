"""The result of an operation that wrote a table, and the files that failed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FailedFile:
    """A file that could not be encrypted in place, or an encrypted one that failed verification. It is unchanged.

    Attributes:
        file: its path.
        condition: the condition of the error, or the name of the storage's exception.
        message: what is wrong, why, and what to do.
    """

    file: str
    condition: str
    message: str


@dataclass(frozen=True)
class Copied:
    """What was written.

    Attributes:
        files: number of files written.
        rows: number of their rows.
        pages: number of their pages.
        bytes: their size.
        already: in place only: number of files that were already encrypted. All their modules were verified, too.
        failed: in place only: files that failed and are unchanged. When a copy fails, there is no copy.
    """

    files: int
    rows: int
    pages: int
    bytes: int
    already: int = 0
    failed: tuple[FailedFile, ...] = ()
