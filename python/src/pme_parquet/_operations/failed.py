"""The error of a job that some of a table's files failed in, while it went on with the others."""

from __future__ import annotations

from typing import Protocol

from pme_parquet.errors import BY_CONDITION, PmeError


class Failed(Protocol):
    """A file that failed: where it is, what went wrong, and in which words."""

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
        undone: what could not be done with it, as `rotated`.
        others: what became of the others.
        report: what the error carries.
    """
    kind = BY_CONDITION.get(first.condition or "")
    ours = f"{first.file}: it could not be {undone}: {first.condition}: {first.message}."
    error = (kind or PmeError)(f"{first.message if kind else ours} ({others})")
    error.report = report
    return error
