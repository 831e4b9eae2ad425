"""The data files of a table: which are plaintext, and which show a protected column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pme_parquet._audience import Words
from pme_parquet._checks.files import is_modules
from pme_parquet._delta.bounds import bounds_of
from pme_parquet._delta.columns import split
from pme_parquet._inspect.look import look
from pme_parquet._logs.log import LOG
from pme_parquet._logs.sums import is_sums
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pme_parquet._delta.columns import Path
    from pme_parquet._delta.findings import Findings
    from pme_parquet._delta.protected import Protected
    from pme_parquet._inspect.inspected import InspectedFile
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
        shown: its path below the table, with slashes.
        footer: as of `pme.inspect`; None if it is no Parquet file.
        plain: the columns that anyone can read.
        sealed: the columns that are encrypted, if its footer shows them or was opened.
        bounds: those among them whose statistics its footer shows.
        whole: whether everything in a file with an encrypted footer is in encrypted modules; None if not looked at.
        opened: whether a session opened its encrypted footer.
        unopened: the condition why a session could not; empty if none tried.
        problem: the condition or reason why it could not be read; empty if it needs not be, as a file of checksums.
    """

    found: Found
    shown: str
    footer: str | None = None
    plain: frozenset[str] = frozenset()
    sealed: frozenset[str] = frozenset()
    bounds: frozenset[str] = frozenset()
    whole: bool | None = None
    opened: bool = False
    unopened: str = ""
    problem: str = ""


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
    return [one for one in found if one.regular and one.bytes and not one.shown.replace("\\", "/").startswith(LOG)]


def look_at(storage: Storage, found: Found) -> DataFile:
    """What a file shows to anyone."""
    shown = found.shown.replace("\\", "/")
    facts = look(storage, found)
    if facts.footer is None:
        return DataFile(found, shown, problem=_problem(storage, found, facts))
    if facts.footer == "encrypted":
        return DataFile(found, shown, facts.footer, whole=_is_whole(storage, found))
    columns = facts.columns or ()
    sealed = frozenset(column.name for column in columns if column.encrypted_with)
    plain = frozenset(column.name for column in columns if not column.encrypted_with)
    return DataFile(found, shown, facts.footer, plain, sealed, bounds_of(storage, found) if sealed else frozenset())


def _problem(storage: Storage, found: Found, facts: InspectedFile) -> str:
    try:
        if is_sums(storage, found):
            return ""
    except Exception as failed:  # noqa: BLE001 each storage has errors of its own
        return f"the storage failed with {type(failed).__name__}"
    return next((finding.condition for finding in facts.findings), "") or "the storage did not return it"


def _is_whole(storage: Storage, found: Found) -> bool | None:
    try:
        return is_modules(storage, found)
    except PmeError:
        return None


def path_of(name: str) -> Path:
    """The path of a column's name in a footer."""
    try:
        return split(name)
    except ValueError:
        return tuple(name.split("."))


def is_data(file: DataFile) -> bool:
    """Whether it may have data, unlike files of other kinds that are known to be below tables."""
    name = file.found.name
    is_vector = name.startswith(_VECTOR) and name.endswith(".bin")
    is_known = is_vector or file.shown.startswith(_OURS) or name.startswith(_MATERIAL) or not file.problem
    return file.footer is not None or not is_known


def search_file(findings: Findings, file: DataFile, of: State, is_known: Callable[[str], bool]) -> None:
    """Adds what a file shows of protected columns.

    Args:
        findings: gets them.
        file: the file.
        of: what the log says of it.
        is_known: whether a column's name is one that the table has.
    """
    if file.footer is None:
        findings.unread(file.shown, f"{of}: it is not a Parquet file that can be read ({file.problem})")
        return
    protected = findings.protected
    readable = _protected(protected, file.plain)
    if readable and not file.sealed and not file.opened:
        shown = ", ".join(readable[:_SHOWN]) + (", …" if len(readable) > _SHOWN else "")
        what = f"{of}: everything in it is readable, also {shown}"
        findings.add("plaintext file", "high", file.shown, what, *(("*",) if len(readable) > _SHOWN else readable))
    elif readable:
        findings.add("plaintext column", "high", file.shown, f"{of}: it is not encrypted in this file", *readable)
    if bounds := _protected(protected, file.bounds):
        findings.add("statistics", "high", file.shown, f"{of}: its footer has readable statistics of it", *bounds)
    if file.footer == "encrypted" and file.whole is not True:
        _search_before(findings, file, of, is_known)


def _search_before(findings: Findings, file: DataFile, of: State, is_known: Callable[[str], bool]) -> None:
    """Adds what is before an encrypted footer, if not everything there is in encrypted modules."""
    if file.opened and file.plain:
        # Those of its plaintext columns that are protected have been found, if they have a name of the table.
        if not all(map(is_known, file.plain)):
            what = f"{of}: it has plaintext columns with names that no schema of the table has"
            findings.add("hidden columns", "unread", file.shown, what)
        return
    if file.opened:
        before = "not everything before it is in encrypted modules"
        seen = before if file.whole is False else "whether all before it is in encrypted modules was not looked at"
        what = f"{of}: its footer has no plaintext column, but {seen}; {Words('pme.verify')} reads it"
        findings.add("hidden columns", "unread", file.shown, what)
        return
    opens = Words("check with spark=", "--spark")
    why = f"; its footer did not open: {file.unopened}" if file.unopened else f"; {opens} opens it"
    if file.whole is None:
        what = f"{of}: its footer is encrypted; whether all before it is was not looked at{why}"
        findings.unread(file.shown, what)
    elif findings.protected.every:
        what = f"{of}: its footer is encrypted, but not everything before it is; which columns, the footer hides"
        findings.add("plaintext in a file", "high", file.shown, what, "*")
    else:
        what = f"{of}: its footer hides which of its columns are encrypted, and not all are{why}"
        findings.add("hidden columns", "unread", file.shown, what)


def _protected(protected: Protected, names: frozenset[str]) -> list[str]:
    return sorted({column for name in names if (column := "*" if name == "*" else protected.column(path_of(name)))})
