"""The error of a job in which some files of a table failed, while it continued with the others."""

from __future__ import annotations

from typing import Protocol

from pme_parquet.errors import BY_CONDITION, PmeError


class Failed(Protocol):
    """A file that failed: its path, what went wrong, and the message."""

    @property
    def file(self) -> str: ...
    @property
    def condition(self) -> str | None: ...
    @property
    def message(self) -> str | None: ...


def error_of(first: Failed, undone: str, others: str, report: object) -> PmeError:
    """Return the error to raise: of the first file's condition, with the report.

    Args:
        first: the first file that failed.
        undone: what could not be done with it, for example `rotated`.
        others: the result for the others.
        report: what the error carries.
    """
    kind = BY_CONDITION.get(first.condition or "")
    ours = f"{first.file}: it could not be {undone}: {first.condition}: {first.message}."
    error = (kind or PmeError)(f"{first.message if kind else ours} ({others})")
    error.report = report
    return error
