"""The data files of a table: which are plaintext, and which show a protected column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pme_parquet._audience import Words
from pme_parquet._checks.delta.columns import path_of
from pme_parquet._checks.files import Columns, columns_of, readable_footer
from pme_parquet._delta_log.log import LOG
from pme_parquet._storage import is_checksums

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pme_parquet._checks.delta.protected import Protected
    from pme_parquet._checks.results import Findings
    from pme_parquet._storage import Found, Storage

State = Literal["live", "no longer live", "not named by the log", "named by the log", "change data"]
_CHANGES = "_change_data/"
# With column mapping, Delta puts change data into directories with random names, like data files.
_CHANGE = "cdc-"
# Manifests of our snapshots, and key material in files of its own: neither has values in plaintext.
_OURS = ("_pme_snapshots/",)
_MATERIAL = "_KEY_MATERIAL_FOR_"
_VECTOR = "deletion_vector_"
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that may have data.

    Attributes:
        found: the file.
        columns: what its footer shows of its columns, to anyone or to a session that opened it; its problem is empty
            if it needs not be read, as a file of checksums.
        bounds: encrypted columns whose statistics its footer shows; `*` if it cannot be read.
        opened: whether a session opened its encrypted footer.
        unopened: the condition why a session could not; empty if none tried.
    """

    found: Found
    columns: Columns
    bounds: frozenset[str] = frozenset()
    opened: bool = False
    unopened: str = ""

    @property
    def shown(self) -> str:
        """Its path below the table, with slashes."""
        return self.found.slashed

    @property
    def hides_columns(self) -> bool:
        """Whether its encrypted footer hides which columns are encrypted, and perhaps not everything is."""
        return self.columns.footer == "encrypted" and self.columns.whole is not True

    @property
    def may_have_data(self) -> bool:
        """Whether it may, unlike files of other kinds that are known to be below tables."""
        name = self.found.name
        is_vector = name.startswith(_VECTOR) and name.endswith(".bin")
        is_known = is_vector or self.shown.startswith(_OURS) or name.startswith(_MATERIAL) or not self.columns.problem
        return self.columns.footer is not None or not is_known


def state(shown: str, live: frozenset[str] | None, named: set[str]) -> State:
    """What the log says of a file."""
    is_change = shown.startswith(_CHANGES) or shown.rpartition("/")[2].startswith(_CHANGE)
    if is_change and not (live and shown in live):
        return "change data"
    if live is None:
        return "named by the log" if shown in named else "not named by the log"
    if shown in live:
        return "live"
    return "no longer live" if shown in named else "not named by the log"


def candidates(found: Sequence[Found]) -> list[Found]:
    """The files outside the log, without empty ones."""
    return [one for one in found if one.regular and one.bytes and not one.slashed.startswith(LOG)]


def look_at(storage: Storage, found: Found) -> DataFile:
    """What a file shows to anyone."""
    columns = columns_of(storage, found)
    if columns.footer is None:
        try:
            return DataFile(found, Columns() if is_checksums(storage, found) else columns)
        except Exception as failed:  # noqa: BLE001 each storage has errors of its own
            return DataFile(found, Columns(problem=f"the storage failed with {type(failed).__name__}"))
    if not columns.sealed:
        return DataFile(found, columns)
    footer = readable_footer(storage, found)
    chunks = footer.columns.values() if footer else ()
    bounds = frozenset(one.name for one in chunks if one.encrypted_with and one.has_bounds)
    return DataFile(found, columns, bounds if footer else frozenset({"*"}))


def search_file(
    findings: Findings, protected: Protected, file: DataFile, of: State, is_known: Callable[[str], bool]
) -> None:
    """Adds what a file shows of protected columns.

    Args:
        findings: gets them.
        protected: the protected columns.
        file: the file.
        of: what the log says of it.
        is_known: whether a column's name is one that the table has.
    """
    columns = file.columns
    if columns.footer is None:
        findings.unread(file.shown, f"{of}: it is not a Parquet file that can be read ({columns.problem})")
        return
    readable = _protected(protected, columns.plain)
    if readable and not columns.sealed and not file.opened:
        shown = ", ".join(readable[:_SHOWN]) + (", …" if len(readable) > _SHOWN else "")
        what = f"{of}: everything in it is readable, also {shown}"
        findings.add("plaintext file", "high", file.shown, what, *(("*",) if len(readable) > _SHOWN else readable))
    elif readable:
        findings.add("plaintext column", "high", file.shown, f"{of}: it is not encrypted in this file", *readable)
    if bounds := _protected(protected, file.bounds):
        findings.add("statistics", "high", file.shown, f"{of}: its footer has readable statistics of it", *bounds)
    if file.hides_columns:
        _search_before(findings, file, of, is_known, every=protected.every)


def _search_before(
    findings: Findings, file: DataFile, of: State, is_known: Callable[[str], bool], *, every: bool
) -> None:
    """Adds what is before an encrypted footer, if not everything there is in encrypted modules."""
    columns = file.columns
    if file.opened and columns.plain:
        # Those of its plaintext columns that are protected have been found, if they have a name of the table.
        if not all(map(is_known, columns.plain)):
            what = f"{of}: it has plaintext columns with names that no schema of the table has"
            findings.add("hidden columns", "unread", file.shown, what)
        return
    if file.opened:
        before = "not everything before it is in encrypted modules"
        seen = before if columns.whole is False else "whether all before it is in encrypted modules was not looked at"
        what = f"{of}: its footer has no plaintext column, but {seen}; {Words('pme.verify')} reads it"
        findings.add("hidden columns", "unread", file.shown, what)
        return
    opens = Words("check with spark=", "--spark")
    why = f"; its footer did not open: {file.unopened}" if file.unopened else f"; {opens} opens it"
    if columns.whole is None:
        what = f"{of}: its footer is encrypted; whether all before it is was not looked at{why}"
        findings.unread(file.shown, what)
    elif every:
        what = f"{of}: its footer is encrypted, but not everything before it is; which columns, the footer hides"
        findings.add("plaintext in a file", "high", file.shown, what, "*")
    else:
        what = f"{of}: its footer hides which of its columns are encrypted, and not all are{why}"
        findings.add("hidden columns", "unread", file.shown, what)


def _protected(protected: Protected, names: frozenset[str]) -> list[str]:
    return sorted({column for name in names if (column := "*" if name == "*" else protected.column(path_of(name)))})
