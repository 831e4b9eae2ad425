"""Searches the actions of a log: statistics, partition values, predicates, and other texts that name a column."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pme_parquet._delta.metadata import search_metadata
from pme_parquet._delta.protected import directories
from pme_parquet._logs.bounds import UnreadableError
from pme_parquet._logs.documents import document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pme_parquet._delta.columns import Path
    from pme_parquet._delta.findings import Findings

DIRECTORIES = "its values are in names of directories"
# Names and numbers of the protocol: no value of the table is in them.
_PROTOCOL = frozenset(
    {"protocol", "txn", "sidecar", "checkpointSchema", "tableSizeBytes", "numFiles", "numMetadata", "numProtocol"}
)
_OF_FILES = frozenset({"add", "remove", "cdc"})
# Of `.crc` files: lists of actions.
_LISTS = {"allFiles": "add", "domainMetadata": "domainMetadata"}
_BOUNDS = {"minvalues": "minimum", "maxvalues": "maximum"}
_NULLS = "nullcount"
# Of the objects that statistics are.
MAX_DEPTH = 64
_COUNTS = frozenset({"numrecords", "tightbounds"})
# They name columns and hold no expression, unless one of these words is in them.
_NAMING = frozenset(
    {"partitionby", "zorderby", "clusterby", "properties", "columns", "column", "columnpath", "oldcolumnpath"}
    | {"newcolumnpath", "newcolumnname", "oldcolumnname", "clusteringcolumns", "oldclusteringcolumns"}
    | {"newclusteringcolumns"}
)
_EXPRESSIONS = ("default", "delta.constraints", "expression")
_EMPTY = frozenset({"", "[]", "true", '["true"]', "null"})
# In place of a condition (`CommitInfo`), and what may be around it.
_REDACTED = "redacted_by_pme_parquet()"
_AROUND = re.compile(r'(?:[\[\]{}(),"\s]|"predicate":|"actionType":"(?:delete|insert|update)"|AND|OR|NOT)*')
_NAMES_ONLY = frozenset({"delta.clustering"})


class Search:
    """Searches documents of the log, and remembers which files they name.

    Attributes:
        named: paths of the files that actions name, decoded; those of change data as well.
        vectors: number of deletion vectors.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._protected = findings.protected
        self.named: set[str] = set()
        self.vectors = 0

    def document(self, file: str, found: Mapping[str, Any]) -> None:
        """Searches one document of a file, or one row of a checkpoint."""
        for kind, value in found.items():
            if isinstance(value, list) and kind in _LISTS:
                for one in value:
                    self._action(file, _LISTS[kind], one)
            elif kind == "v2Checkpoint" and isinstance(value, dict):
                for one in _dicts(value.get("nonFileActions")):
                    self.document(file, one)
            elif value is not None and kind not in _PROTOCOL:
                self._action(file, kind, value)

    def _action(self, file: str, kind: str, value: Any) -> None:  # noqa: ANN401 of JSON
        if not isinstance(value, dict):
            self._text(file, kind, value)
        elif kind in _OF_FILES:
            self._of_file(file, value)
        elif kind in {"metaData", "metadata"}:
            search_metadata(self._findings, file, value)
        elif kind == "commitInfo":
            self._commit(file, value)
        elif kind == "checkpointMetadata":
            tags = value.get("tags")
            # A schema has names only; `metaData` has the same one.
            self._text(file, "tags", {**tags, "sidecarFileSchema": None} if isinstance(tags, dict) else value)
        elif kind != "domainMetadata" or value.get("domain") not in _NAMES_ONLY:
            self._text(file, kind, value)

    def _of_file(self, file: str, action: Mapping[str, Any]) -> None:
        path = action.get("path")
        if isinstance(path, str):
            self._path(file, unquote(path))
        for name in ("partitionValues", "partitionValues_parsed"):
            self._partition(file, action.get(name))
        for name in ("stats", "stats_parsed"):
            self._statistics(file, action.get(name))
        self._text(file, "tags", action.get("tags"))
        vector = action.get("deletionVector")
        if isinstance(vector, dict) and vector.get("storageType") is not None:
            self.vectors += 1
            if vector.get("storageType") == "p":
                self._findings.add("outside path", "unread", file, "a deletion vector has an absolute path")

    def _path(self, file: str, path: str) -> None:
        if path.startswith(("/", "\\")) or ":" in path.split("/", 1)[0] or ".." in path.replace("\\", "/").split("/"):
            what = "an action names a file by a path that may lead out of the table; it was not followed"
            self._findings.add("outside path", "unread", file, what)
            return
        self.named.add(path)
        for column in directories(self._protected, path):
            self._findings.add("partition value", "high", file, DIRECTORIES, column)

    def _partition(self, file: str, values: Any) -> None:  # noqa: ANN401 of JSON
        # PyArrow returns a map as pairs.
        pairs = values.items() if isinstance(values, dict) else values if isinstance(values, list) else ()
        for pair in pairs:
            is_value = isinstance(pair, tuple) and len(pair) == 2 and pair[1] is not None  # noqa: PLR2004 a pair
            if is_value and (column := self._protected.column((str(pair[0]),))):
                self._findings.add("partition value", "high", file, "its values are partition values", column)

    def _statistics(self, file: str, stats: Any) -> None:  # noqa: ANN401 of JSON
        if isinstance(stats, str):
            try:
                stats = document(stats) if stats else None
            except UnreadableError as unreadable:
                self._findings.unread(file, f"statistics of an action were not read: {unreadable}")
                return
        if not isinstance(stats, dict):
            return
        for name, values in stats.items():
            known = name.casefold()
            if known in _BOUNDS:
                for column in self._columns(file, values):
                    self._findings.add("statistics", "high", file, f"its {_BOUNDS[known]} is readable", column)
            elif known == _NULLS:
                for column in self._columns(file, values):
                    self._findings.add("null count", "low", file, "its number of nulls is readable", column)
            elif known not in _COUNTS:
                self._text(file, "statistics of another kind", {name: values})

    def _columns(self, file: str, values: Any) -> Iterator[str]:  # noqa: ANN401 of JSON
        """The protected columns that have a value in an object of columns."""
        left: list[tuple[Path, Any]] = [((), values)]
        while left:
            path, value = left.pop()
            if isinstance(value, dict):
                if len(path) >= MAX_DEPTH:
                    self._findings.unread(file, f"statistics are nested more than {MAX_DEPTH} levels deep")
                    continue
                # Paths of a hostile log are long, and most are of no column that matters.
                some = value.items() if path else ((name, one) for name, one in value.items() if self._begins(name))
                left.extend(((*path, str(name)), one) for name, one in some)
            elif value is not None and path and (column := self._protected.column(path)):
                yield column

    def _begins(self, name: object) -> bool:
        return self._protected.may_begin(str(name))

    def _commit(self, file: str, info: Mapping[str, Any]) -> None:
        for name, value in info.items():
            if name == "operationParameters" and isinstance(value, dict):
                for parameter, text in value.items():
                    self._parameter(file, str(parameter), text)
            elif name == "userMetadata" and value and not _is_redacted(str(value)):
                self._text(file, name, value)
                self._findings.add("free text", "note", file, "it has userMetadata, which may contain anything")
            elif name not in {"engineInfo", "clientVersion", "operation"}:
                self._text(file, name, value)

    def _parameter(self, file: str, name: str, value: Any) -> None:  # noqa: ANN401 of JSON
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        known, folded = name.casefold(), text.casefold()
        if text in _EMPTY or (known in _NAMING and not any(word in folded for word in _EXPRESSIONS)):
            return
        is_predicate = "predicate" in known or known in {"expr", "condition"}
        if is_predicate and _is_redacted(text):
            return
        columns = self._protected.within(text)
        if not columns and is_predicate and self._protected.every and not _has_no_predicate(text):
            columns = ("*",)
        if columns:
            kind = "predicate" if is_predicate else "text"
            self._findings.add(
                kind, "high", file, f"an operation's {_word(name)} names it, with the values in it", *columns
            )

    def _text(self, file: str, name: str, value: Any) -> None:  # noqa: ANN401 of JSON
        if value is None or isinstance(value, (bool, int, float)):
            return
        if columns := self._protected.within(value if isinstance(value, str) else _plain(value)):
            self._findings.add("text", "low", file, f"{_word(name)} names it, perhaps with values", *columns)


def _is_redacted(text: str) -> bool:
    """Whether the guard of commits has left nothing else of a text."""
    return _REDACTED in text and _AROUND.fullmatch(text.replace(_REDACTED, "")) is not None


def _has_no_predicate(text: str) -> bool:
    """Whether it is a list of clauses of MERGE without conditions."""
    return text.startswith("[{") and '"predicate"' not in text


def _dicts(values: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 of JSON
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, dict))


def _plain(value: Any) -> str:  # noqa: ANN401 of JSON, or of a checkpoint
    return json.dumps(value, ensure_ascii=False, default=str)


def _word(name: str) -> str:
    """A name of the protocol; anything else may be a value."""
    return name if name.isascii() and name.replace("_", "").replace(" ", "").isalpha() else "a field"
