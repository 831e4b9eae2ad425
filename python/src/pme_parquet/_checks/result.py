"""The answer of a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._display.showable import Showable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pme_parquet._checks.findings import CheckFinding
    from pme_parquet._display.content import Shown


class CheckResult(Showable):
    """What all checks answer: findings, what was looked at, and how the storage was reached."""

    path: str
    version: int | None
    findings: Sequence[CheckFinding]
    looked_at: Mapping[str, int]
    storage: str

    @property
    def ok(self) -> bool:
        """Whether everything was looked at, and nothing was found that shows a value, or anything about one.

        Notes do not count. It says nothing of what the check cannot recognize: see the page on the check.
        """
        return all(finding.severity == "note" for finding in self.findings)

    def _shown_as(self, kind: str, line: str) -> Shown:
        """The view, with what the table is and a line about it."""
        from pme_parquet._checks.view import shown  # noqa: PLC0415 only when it is shown

        return shown((self.path, kind, self.version), line, self.findings, self.looked_at, self.storage)
