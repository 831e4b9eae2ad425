"""What `encrypt_table` and `rotate` did to a Delta table, and what is left to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pme_parquet._audience import Words
from pme_parquet._display.content import Showable
from pme_parquet._display.words import number, printable

if TYPE_CHECKING:
    from pme_parquet._checks.results import DeltaCheck
    from pme_parquet._display.content import Shown


@dataclass(frozen=True)
class EncryptedTable(Showable):
    """What was done with a Delta table. Print it, display it in a notebook, or use its attributes.

    It says nothing of other copies of the table, nor of what a storage keeps of deleted files.

    Attributes:
        path: the table.
        version_before: its newest version before.
        version: its newest version now; the same if there was nothing to do.
        files_rewritten: number of files that were replaced.
        files_written: number of files that replaced them.
        files: number of live files. Each footer was opened, and each column has the key that it is to have.
        rows: number of rows that were compared before and after; None if nothing was rewritten.
        columns: the leaf columns with their master keys; None for a column whose statistics stay readable. In files, it
            may be under the footer key of the session that wrote them.
        properties: the table properties that name the keys and the columns with statistics.
        readable: what stays readable in the newest version.
        left: what older versions leave readable.
        statements: how to remove that; older versions cannot be read then.
        check: the result of `pme.delta.check` afterwards; None if it did not run.
        not_checked: why it did not run.
    """

    path: str
    version_before: int
    version: int
    files_rewritten: int
    files_written: int
    files: int
    rows: int | None
    columns: dict[str, str | None]
    properties: dict[str, str]
    readable: tuple[str, ...]
    left: tuple[str, ...]
    statements: tuple[str, ...]
    check: DeltaCheck | None = field(repr=False)
    not_checked: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Everything, as for JSON."""
        found = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        return found | {"check": None if self.check is None else self.check.to_dict()}

    @property
    def _shown(self) -> Shown:
        from pme_parquet._display.content import Line, Shown, Table  # noqa: PLC0415 only when it is shown

        done = "nothing to do" if self.version == self.version_before else f"version {self.version_before:,} before"
        title = f"{printable(self.path)}: Delta table, version {self.version:,}, {done}"
        columns = Table(
            ("column", "master key"),
            tuple((printable(name), "-" if key is None else printable(key)) for name, key in self.columns.items()),
        )
        replaced = f"{number(self.files_rewritten, 'file')} replaced by {number(self.files_written, 'file')}"
        lines = [f"{replaced}; {number(self.files, 'live file')} looked at, each with these keys"]
        if self.rows is not None:
            lines.append(f"{number(self.rows, 'row')} compared before and after, and equal")
        lines += [f"readable: {printable(text)}" for text in self.readable]
        lines += [f"left: {printable(text)}" for text in self.left]
        if self.statements:
            lines.append("to remove what is left, with the versions before this one:")
            lines += [f"  {printable(text)}" for text in self.statements]
        if self.check is None:
            lines.append(f"not checked with {Words('pme.delta.check')}: {printable(self.not_checked)}")
        else:
            wrong = sum(finding.severity != "note" for finding in self.check.findings)
            lines.append(
                f"{Words('pme.delta.check')}: {number(wrong, 'finding') if wrong else 'no findings'}; "
                f"{Words('.check', '--json')} has the result"
            )
        return Shown(title, (columns,), tuple(Line(text) for text in lines))
