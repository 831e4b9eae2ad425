"""A check from its beginning to its end: list, copy the log, look at files, decide what is protected, search."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pme_parquet._audience import Words
from pme_parquet._delta import checkpoints
from pme_parquet._delta.actions import DIRECTORIES, Search
from pme_parquet._delta.checked import DeltaCheck
from pme_parquet._delta.choice import chosen
from pme_parquet._delta.columns import Schemas
from pme_parquet._delta.data import DataFile, candidates, is_data, look_at, path_of, search_file, state
from pme_parquet._delta.findings import Findings
from pme_parquet._delta.metadata import configuration, partitions, schema
from pme_parquet._delta.protected import Protected, directories, named
from pme_parquet._logs.bounds import UnreadableError
from pme_parquet._logs.live import NOT_INSTALLED, Live, is_installed, live
from pme_parquet._logs.log import LOG, Log, copied
from pme_parquet._storage import shown, storage
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pme_parquet._access import Access
    from pme_parquet._delta.opened import Opener
    from pme_parquet._storage import Found, Storage, WholeStorage

# What Delta writes into files beside the columns of the schema.
_CHANGE_TYPE = "_change_type"
_ROW_TRACKING = "delta.rowTracking.materialized"
MAX_FILES = 1_000_000
_THREADS = 16


def searched(
    where: str, columns: Sequence[str] | None, reached: Access, function: str, opener: Opener | None
) -> DeltaCheck:
    """Everything that `pme.delta.check` does."""
    files = storage(where, reached.options)
    of_log, others = _listed(files)
    if not of_log:
        raise BadOptionError(f"{function}: {shown(where)} is not a Delta table: it has no _delta_log. Check the path.")
    with TemporaryDirectory(prefix="pme-delta-") as directory:
        # Before it is known what is protected, no column is; only what could not be read is found.
        first: list[tuple[str, str]] = []
        log = copied(files, of_log[:MAX_FILES], Path(directory), lambda file, what: first.append((file, what)))
        told = live(Path(directory), log) if is_installed() else Live(problem=NOT_INSTALLED)
        if told.files is None and opener is not None:
            told = opener.live(told.problem)
        made = _Check(files, (*of_log[:MAX_FILES], *others[:MAX_FILES]), log, told, opener)
        protected, why = made.protected(columns, function)
        findings = Findings(protected)
        for file, what in first:
            findings.unread(file, what)
        if max(len(of_log), len(others)) > MAX_FILES:
            findings.unread("", f"there are more than {MAX_FILES:,} files; the others were not looked at")
        made.search(findings)
    place = shown(where), made.live.version
    return DeltaCheck(*place, protected.names, why, findings.all(), made.looked_at, reached.words, made.live.by)


def _listed(files: WholeStorage) -> tuple[list[Found], list[Found]]:
    """The files of the log, and the others; of each one more than are looked at."""
    listed: tuple[list[Found], list[Found]] = ([], [])
    for one in files.everything():
        some = listed[not one.shown.replace("\\", "/").startswith(LOG)]
        if len(some) <= MAX_FILES:
            some.append(one)
    return listed


def _search(search: Search, findings: Findings, file: str, document: dict[str, Any]) -> None:
    try:
        search.document(file, document)
    except Exception as failed:  # noqa: BLE001 whoever wrote the log must not be able to stop a check
        findings.unread(file, f"a document was not read: {type(failed).__name__} is a fault of this check")


class _Check:
    """What is known of a table before it is searched."""

    def __init__(
        self, files: Storage, found: Sequence[Found], log: Log, of: Live, opener: Opener | None = None
    ) -> None:
        self._files, self._found, self._log, self.live = files, found, log, of
        self.looked_at: dict[str, int] = {}
        self.opened = 0
        self._schema: object = None
        # Files of a table mostly have the same columns.
        self._shared: dict[frozenset[str], frozenset[str]] = {}
        self._schemas, self._properties = Schemas(), dict[str, str]()
        self._partitions: tuple[str, ...] = ()
        for _, document in self._documents(lambda _file, _what: None):
            self._remember(document)
        if of.metadata is not None:
            # The newest one may be in an encrypted checkpoint.
            self._remember(of.metadata)
        with ThreadPoolExecutor(_THREADS) as threads:
            self._data: list[DataFile] = list(threads.map(self._look, candidates(found)))
        if opener is not None:
            self._open(opener)

    def _open(self, opener: Opener) -> None:
        """Opens the footers that hide which columns are encrypted, where not everything is."""
        hiding = [file for file in self._data if file.footer == "encrypted" and file.whole is not True]
        # Two files may be shown alike, as `a/b` and `a\\b`.
        opened = {file.found.path: file for file in opener.columns(hiding)}
        self._data = [self._with_shared(opened.get(file.found.path, file)) for file in self._data]
        self.opened = sum(file.opened for file in opened.values())

    def _look(self, found: Found) -> DataFile:
        return self._with_shared(look_at(self._files, found))

    def _with_shared(self, file: DataFile) -> DataFile:
        shared = self._shared.setdefault
        plain, sealed, bounds = (shared(names, names) for names in (file.plain, file.sealed, file.bounds))
        return replace(file, plain=plain, sealed=sealed, bounds=bounds)

    def _documents(self, unread: Any) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401 a function
        """Checkpoints first: a log that was cleaned begins with one."""
        yield from checkpoints.rows(self._files, self._log, unread)
        yield from self._log.documents(unread)

    def _remember(self, document: Mapping[str, Any]) -> None:
        metadata = document.get("metaData")
        if isinstance(metadata, dict):
            self._properties = configuration(metadata)
            self._partitions = partitions(metadata)
            if metadata.get("schemaString") == self._schema:
                return
            self._schema = metadata.get("schemaString")
            try:
                self._schemas.add(schema(metadata))
            except UnreadableError:  # the search says so
                return

    def _is_known(self, name: str) -> bool:
        """Whether a column of a file is one of the table, or one of those that Delta adds."""
        written = {value for key, value in self._properties.items() if key.startswith(_ROW_TRACKING)}
        return name == _CHANGE_TYPE or name in written or self._schemas.known(path_of(name))

    def protected(self, columns: Sequence[str] | None, function: str) -> tuple[Protected, str]:
        """The protected columns, and how they were found."""
        if columns is not None:
            return named(columns, self._schemas, function), "as named"
        alive = [file for file in self._data if self.live.files is None or file.shown in self.live.files]
        return chosen(alive, self._properties, self._schemas, self._partitions)

    def search(self, findings: Findings) -> None:
        """Adds all findings."""
        if not findings.protected:
            name = Words("in columns", "with --column")
            what = f"there is no protected column to look for: no live file encrypts one. Name them {name}"
            findings.add("nothing protected", "unread", "", what)
        if self.live.files is None:
            what = f"which files are live is not known: {self.live.problem}"
            findings.add("unsupported table", "unread", "", what)
        newest = max((*self._log.commits, *self._log.checkpoints), default=None)
        if self.live.version not in {None, newest}:
            what = f"live files are those of version {self.live.version}, and the newest in the log is {newest}"
            findings.add("other version", "unread", "", f"{what}: another session may be writing. Run it again")
        search = Search(findings)
        for file, document in self._documents(findings.unread):
            _search(search, findings, file, document)
        checkpoints.encrypted(self._files, self._log, findings)
        checkpoints.missing(self._log, self._properties, findings)
        self._files_of(findings, search)

    def _files_of(self, findings: Findings, search: Search) -> None:
        for one in self._found:
            for column in directories(findings.protected, one.shown.replace("\\", "/")):
                findings.add("partition value", "high", one.shown, DIRECTORIES, column)
            if one.link:
                findings.add("link", "unread", one.shown, "it is a symbolic link; it was not followed")
            elif not one.regular and not one.shown.startswith(LOG):
                findings.unread(one.shown, "it is not a regular file, or a directory that cannot be listed")
        counts: dict[str, int] = {}
        for file in filter(is_data, self._data):
            of = state(file.shown, self.live.files, search.named)
            counts[of] = counts.get(of, 0) + 1
            search_file(findings, file, of, self._is_known)
        here = {file.shown for file in self._data}
        if absent := len((self.live.files or frozenset()) - here):
            findings.unread("", f"{absent:,} live files are not below the table, or are empty")
        if search.vectors:
            what = "it has deletion vectors: they show which rows of a file are deleted, and no values"
            findings.add("deletion vectors", "note", "", what)
        self.looked_at = {
            "commits": len(self._log.commits),
            "checkpoints": len(self._log.checkpoints),
            **{f"files {of}": count for of, count in sorted(counts.items())},
            **({"footers opened": self.opened} if self.opened else {}),
        }
