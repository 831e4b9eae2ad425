"""What `pme.inspect` found: files, tables, findings, and how files differ. `view` shows it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pme_parquet._display.content import Showable
from pme_parquet._inspect.inspected import Finding, Group, InspectedFile, InspectedTable, Key

if TYPE_CHECKING:
    import pandas as pd

    from pme_parquet._display.content import Shown


@dataclass(frozen=True)
class Inspection(Showable):
    """The result of an inspection. Print it, display it in a notebook, or use its attributes.

    Attributes:
        path: the inspected path.
        files: every file except those that Spark ignores.
        groups: the files, grouped by visible encryption; the largest group first.
        drift: how the files differ, in sentences.
        tables: the tables that the files belong to, with what their snapshots state; empty for a single file. A table
            is a directory with data files, without the names of partitions.
        storage: how the storage was reached, in words without secrets; empty for local files.
    """

    path: str
    files: tuple[InspectedFile, ...]
    groups: tuple[Group, ...] = field(repr=False)
    drift: tuple[str, ...] = ()
    tables: tuple[InspectedTable, ...] = ()
    storage: str = ""

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All findings: those of files, then those of snapshots. Empty if nothing is wrong."""
        of_files = (finding for file in self.files for finding in file.findings)
        return (*of_files, *(finding for table in self.tables for finding in table.findings))

    def to_dict(self) -> dict[str, Any]:
        """Everything, as for JSON."""
        return {
            "path": self.path,
            "storage": self.storage,
            "files": [asdict(file) for file in self.files],
            "groups": [{"files": g.files, "bytes": g.bytes, "example": g.example.file} for g in self.groups],
            "drift": list(self.drift),
            "tables": [asdict(table) for table in self.tables],
            "findings": [asdict(finding) for finding in self.findings],
        }

    def to_pandas(self) -> pd.DataFrame:
        """One row for each file. Fields of its footer key have the prefix `footer_key.`."""
        try:
            import pandas as pd  # noqa: PLC0415 not needed otherwise
        except ImportError as missing:
            from pme_parquet.errors import UnsupportedError  # noqa: PLC0415 as above

            message = "to_pandas: this needs pandas, which is not installed. pip install pandas."
            raise UnsupportedError(message) from missing
        rows = self.to_dict()["files"]
        for row in rows:
            key = row.pop("footer_key") or {}
            row |= {f"footer_key.{name}": key.get(name) for name in Key.__dataclass_fields__}
        return pd.DataFrame(rows)

    @property
    def _shown(self) -> Shown:
        from pme_parquet._inspect.view import shown  # noqa: PLC0415 only when it is shown

        return shown((self.path, self.storage), self.files, self.groups, self.drift, self.tables)
