"""A check from its beginning to its end: list, copy the log, look at files, decide what is protected, search."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pme_parquet._audience import Words
from pme_parquet._checks.delta import checkpoints
from pme_parquet._checks.delta.actions import DIRECTORIES, Search, configuration, partitions, schema
from pme_parquet._checks.delta.columns import Schemas, path_of
from pme_parquet._checks.delta.data import candidates, look_at, search_file, state
from pme_parquet._checks.delta.protected import chosen, named
from pme_parquet._checks.files import MAX_FILES, look_at_files
from pme_parquet._checks.results import DeltaCheck, Findings
from pme_parquet._delta_log import live
from pme_parquet._delta_log.log import LOG, copied
from pme_parquet._storage import UnreadableError, shown, storage
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pme_parquet._access import Access
    from pme_parquet._checks.delta.data import DataFile
    from pme_parquet._checks.delta.opened import Opener
    from pme_parquet._checks.delta.protected import Protected
    from pme_parquet._delta_log.live import Live
    from pme_parquet._delta_log.log import Log
    from pme_parquet._storage import Found, Storage, WholeStorage

# What Delta writes into files besides the columns of the schema.
_CHANGE_TYPE = "_change_type"
_ROW_TRACKING = "delta.rowTracking.materialized"


def searched(
    where: str, columns: Sequence[str] | None, reached: Access, function: str, opener: Opener | None
) -> DeltaCheck:
    """Everything that `pme.delta.check` does."""
    files, findings = storage(where, reached.options), Findings()
    of_log, others = _listed(files)
    if not of_log:
        raise BadOptionError(f"{function}: {shown(where)} is not a Delta table: it has no _delta_log. Check the path.")
    if max(len(of_log), len(others)) > MAX_FILES:
        findings.unread("", f"there are more than {MAX_FILES:,} files; the others were not looked at")
    found = (*of_log[:MAX_FILES], *others[:MAX_FILES])
    with TemporaryDirectory(prefix="pme-delta-") as directory:
        log = copied(files, of_log[:MAX_FILES], Path(directory), findings.unread)
        answer = live.from_log(Path(directory), log)
        if answer.files is None and opener is not None:
            answer = opener.live(answer.problem)
        table = _Table(files, findings, found, log, answer)
        if opener is not None:
            table.open(opener)
        protected, why = table.protected(columns, function)
        looked_at = table.search(protected)
    place = shown(where), answer.version
    return DeltaCheck(*place, protected.names, why, findings.all(), looked_at, reached.words, answer.by)


def _listed(files: WholeStorage) -> tuple[list[Found], list[Found]]:
    """The files of the log, and the others; of each one more than are looked at."""
    listed: tuple[list[Found], list[Found]] = ([], [])
    for one in files.everything():
        some = listed[not one.slashed.startswith(LOG)]
        if len(some) <= MAX_FILES:
            some.append(one)
    return listed


class _Table:
    """What is known of a table: its columns and properties, and what its files show."""

    def __init__(self, files: Storage, findings: Findings, found: Sequence[Found], log: Log, answer: Live) -> None:
        self._files, self._findings, self._found, self._log, self._live = files, findings, found, log, answer
        self._opened = 0
        self._schema: object = None
        self._schemas, self._properties = Schemas(), dict[str, str]()
        self._partitions: tuple[str, ...] = ()
        self._by_spark: set[str] = set()
        for file, document in self._documents():
            self._remember(file, document)
        if answer.metadata is not None:
            # The newest one may be in an encrypted checkpoint.
            self._remember("", answer.metadata)
        # Files of a table mostly have the same columns.
        self._shared: dict[frozenset[str], frozenset[str]] = {}
        self._data: list[DataFile] = look_at_files(
            candidates(found), lambda one: self._with_shared(look_at(files, one)), findings
        )

    def open(self, opener: Opener) -> None:
        """Opens the footers that hide which columns are encrypted, if not everything is."""
        # Two files may be shown alike, as `a/b` and `a\\b`.
        opened = {file.found.path: file for file in opener.columns([one for one in self._data if one.hides_columns])}
        self._data = [self._with_shared(opened.get(file.found.path, file)) for file in self._data]
        self._opened = sum(file.opened for file in opened.values())

    def _with_shared(self, file: DataFile) -> DataFile:
        shared, columns = self._shared.setdefault, file.columns
        plain, sealed, bounds = (shared(names, names) for names in (columns.plain, columns.sealed, file.bounds))
        return replace(file, bounds=bounds, columns=replace(columns, plain=plain, sealed=sealed))

    def _documents(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Checkpoints first: a log that was cleaned begins with one."""
        yield from checkpoints.rows(self._files, self._log, self._findings)
        yield from self._log.documents(self._findings.unread)

    def _remember(self, file: str, document: Mapping[str, Any]) -> None:
        info, metadata = document.get("commitInfo"), document.get("metaData")
        if isinstance(info, dict) and "Delta-Lake/" in str(info.get("engineInfo")):
            self._by_spark.add(file)
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
        alive = [file for file in self._data if self._live.files is None or file.shown in self._live.files]
        sealed = {name for file in alive for name in file.columns.sealed}
        hidden = any(file.columns.footer == "encrypted" and not file.opened for file in alive)
        return chosen(sealed, self._properties, self._schemas, self._partitions, hidden=hidden)

    def search(self, protected: Protected) -> dict[str, int]:
        """Adds all findings, and returns numbers of what was looked at."""
        findings, log = self._findings, self._log
        if not protected:
            name = Words("in columns", "with --column")
            what = f"there is no protected column to look for: no live file encrypts one. Name them {name}"
            findings.add("nothing protected", "unread", "", what)
        if self._live.files is None:
            what = f"which files are live is not known: {self._live.problem}"
            findings.add("unsupported table", "unread", "", what)
        newest = max((*log.commits, *log.checkpoints), default=None)
        if self._live.version not in {None, newest}:
            what = f"live files are those of version {self._live.version}, and the newest in the log is {newest}"
            findings.add("other version", "unread", "", f"{what}: another session may be writing. Run it again")
        search = Search(findings, protected)
        for file, document in self._documents():
            self._search_document(search, file, document)
        if search.vectors:
            what = "it has deletion vectors: they show which rows of a file are deleted, and no values"
            findings.add("deletion vectors", "note", "", what)
        checkpoints.encrypted(self._files, log, findings)
        checkpoints.missing(log, self._properties, self._by_spark, findings)
        self._names(protected)
        counts = self._search_files(protected, search.named)
        opened = {"footers opened": self._opened} if self._opened else {}
        return {"commits": len(log.commits), "checkpoints": len(log.checkpoints)} | counts | opened

    def _search_document(self, search: Search, file: str, document: dict[str, Any]) -> None:
        try:
            search.document(file, document)
        except Exception as failed:  # noqa: BLE001 whoever wrote the log must not be able to stop a check
            what = f"a document was not read: {type(failed).__name__} is a fault of this check"
            self._findings.unread(file, what)

    def _names(self, protected: Protected) -> None:
        for one in self._found:
            for column in protected.directories(one.slashed):
                self._findings.add("partition value", "high", one.shown, DIRECTORIES, column)
            if one.link:
                self._findings.add("link", "unread", one.shown, "it is a symbolic link; it was not followed")
            elif not one.regular and not one.shown.startswith(LOG):
                self._findings.unread(one.shown, "it is not a regular file, or a directory that cannot be listed")

    def _search_files(self, protected: Protected, named_by_log: set[str]) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for file in self._data:
            if file.may_have_data:
                of = state(file.shown, self._live.files, named_by_log)
                counts[f"files {of}"] += 1
                search_file(self._findings, protected, file, of, self._is_known)
        here = {file.shown for file in self._data}
        if absent := len((self._live.files or frozenset()) - here):
            self._findings.unread("", f"{absent:,} live files are not below the table, or are empty")
        return dict(sorted(counts.items()))
