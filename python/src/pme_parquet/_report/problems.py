"""What is wrong with the files of a table. A report lists each problem once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pme_parquet._audience import Words
from pme_parquet._display.words import number
from pme_parquet.errors import PlaintextFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pme_parquet._inspect.inspected import Finding
    from pme_parquet._report.protection import Protection

# Used in place of an error's condition if files are sound but do not match each other.
READABLE = "readable column"
DIFFERENT = "difference"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with a file, seen from outside or by verification.

    Attributes:
        file: where it is, below the table.
        where: the part of the file.
        condition: as of an error, or what differs.
        message: what is wrong, why, and what to do.
        found_by: the check: verification opens modules, `footers` compares what they say about columns.
        column: the column it is about, if it is one.
    """

    file: str
    where: str
    condition: str
    message: str
    found_by: Literal["verification", "footers", "inspection"]
    column: str | None = None

    @property
    def verified(self) -> bool:
        """Whether verification found it."""
        return self.found_by == "verification"


def unlike(protection: Protection, verified: Sequence[Problem]) -> Iterator[Problem]:
    """Columns that are readable in encrypted files or protected differently, except those that are already listed."""
    same = protection.column
    listed = {same(one.column) for one in verified if one.condition == PlaintextFileError.condition and one.column}
    files = sum(group.files for group in protection.encrypted)
    differences = protection.differences()
    differing = {same(column) for one in differences for column in one.columns}
    for column, count in protection.readable().items():
        if same(column) not in listed | differing:
            message = (
                f"it is not encrypted in {count:,} of {number(files, 'encrypted file')}: anyone with access to the "
                f"storage can read its values and statistics. If that is not intended, encrypt it with "
                f"{Words('pme.rekey')} and keys that name it."
            )
            yield Problem(protection.first_with(column), f"column {column}", READABLE, message, "footers", column)
    for one in differences:
        columns = tuple(column for column in one.columns if same(column) not in listed)
        if columns:
            kind = READABLE if one.ways[0][0] == "readable" else DIFFERENT
            advice = f"Find out who wrote these files. To give all files the same keys, use {Words('pme.rekey')}."
            where = f"column {', '.join(columns)}"
            yield Problem("", where, kind, f"{one._replace(columns=columns).in_words} {advice}", "footers")


def outside(findings: Iterable[Finding], known: set[tuple[str, str]]) -> Iterator[Problem]:
    """Problems visible without keys, except those of files for which verification reports the same."""
    for finding in findings:
        if (finding.file, finding.condition) not in known:
            message = finding.message.removeprefix(f"[{finding.condition}] ")
            yield Problem(finding.file, "", finding.condition, without_file(message, finding.file), "inspection")


def without_file(message: str, file: str) -> str:
    """A message without the file at its beginning, because the report shows the file beside it."""
    return message.removeprefix(file).lstrip(",: ")
