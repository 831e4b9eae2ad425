"""The error of a job that some of a table's files failed in, while it went on with the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet.errors import BY_CONDITION, PmeError

if TYPE_CHECKING:
    from pme_parquet._copies import FailedFile
    from pme_parquet._rotation import RotatedFile


def error_of(first: FailedFile | RotatedFile, undone: str, others: str, report: object) -> PmeError:
    """Return the error to raise: of the first file's condition, with the report.

    Args:
        first: the first file that failed.
        undone: what could not be done with it, as `rotated`.
        others: what became of the others.
        report: what the error carries.
    """
    kind = BY_CONDITION.get(first.condition or "")
    ours = f"{first.file}: it could not be {undone}, because of {first.condition}: {first.message}."
    error = (kind or PmeError)(f"{first.message if kind else ours} ({others})")
    error.report = report
    return error
