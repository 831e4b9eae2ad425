"""Searches the actions of a log: statistics, partition values, predicates, and other texts that name a column.

Also what the metadata of a table has: defaults, generated columns, constraints, and other texts in its schema.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pme_parquet._checks.delta.columns import PHYSICAL, Field, fields
from pme_parquet._checks.delta.protected import ENCRYPTION
from pme_parquet._delta_log.log import document
from pme_parquet._storage import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pme_parquet._checks.delta.columns import Path
    from pme_parquet._checks.delta.protected import Protected
    from pme_parquet._checks.results import Findings

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
# Of metadata.
_DEFAULTS = frozenset({"CURRENT_DEFAULT", "EXISTS_DEFAULT"})
_IDENTITY = frozenset({"delta.identity.highWaterMark", "delta.identity.start"})
_GENERATED = "delta.generationExpression"
_PLAIN = frozenset({PHYSICAL, "delta.columnMapping.id", "delta.identity.step", "delta.identity.allowExplicitInsert"})
_CONSTRAINT = "delta.constraints."


def configuration(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The properties of a table, from its metadata."""
    return {str(name): str(value) for name, value in _pairs(metadata.get("configuration"))}


def partitions(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The partition columns of a table, from its metadata."""
    found = metadata.get("partitionColumns")
    return tuple(name for name in found if isinstance(name, str)) if isinstance(found, list) else ()


def schema(metadata: Mapping[str, Any]) -> tuple[Field, ...]:
    """The fields of a table, from its metadata.

    Raises:
        UnreadableError: they cannot be read.
    """
    text = metadata.get("schemaString")
    return tuple(fields(text)) if isinstance(text, str) else ()


def _pairs(values: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 of JSON
    """The entries of a map, which PyArrow returns as pairs."""
    pairs = values.items() if isinstance(values, dict) else values if isinstance(values, list) else ()
    return [pair for pair in pairs if isinstance(pair, tuple) and len(pair) == 2]  # noqa: PLR2004 a pair


class Search:
    """Searches documents of the log, and remembers which files they name.

    Attributes:
        named: paths of the files that actions name, decoded; those of change data as well.
        vectors: number of deletion vectors.
    """

    def __init__(self, findings: Findings, protected: Protected) -> None:
        self._findings, self._protected = findings, protected
        self.named: set[str] = set()
        self.vectors = 0

    def document(self, file: str, found: Mapping[str, Any]) -> None:
        """Searches one document of a file, or one row of a checkpoint."""
        for kind, value in found.items():
            if isinstance(value, list) and kind in _LISTS:
                for one in value:
                    self._action(file, _LISTS[kind], one)
            elif kind == "v2Checkpoint" and isinstance(value, dict):
                others = value.get("nonFileActions")
                for one in others if isinstance(others, list) else ():
                    if isinstance(one, dict):
                        self.document(file, one)
            elif value is not None and kind not in _PROTOCOL:
                self._action(file, kind, value)

    def _action(self, file: str, kind: str, value: Any) -> None:  # noqa: ANN401 of JSON
        if not isinstance(value, dict):
            self._text(file, kind, value)
        elif kind in _OF_FILES:
            self._of_file(file, value)
        elif kind in {"metaData", "metadata"}:
            self._metadata(file, value)
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
        for column in self._protected.directories(path):
            self._findings.add("partition value", "high", file, DIRECTORIES, column)

    def _partition(self, file: str, values: Any) -> None:  # noqa: ANN401 of JSON
        for name, value in _pairs(values):
            if value is not None and (column := self._protected.column((str(name),))):
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
                may_begin = self._protected.may_begin
                left += [((*path, str(name)), one) for name, one in value.items() if path or may_begin(str(name))]
            elif value is not None and path and (column := self._protected.column(path)):
                yield column

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
        if columns := self._protected.within(value):
            self._findings.add("text", "low", file, f"{_word(name)} names it, perhaps with values", *columns)

    def _metadata(self, file: str, metadata: Mapping[str, Any]) -> None:
        add, protected = self._findings.add, self._protected
        for name in partitions(metadata):
            if column := protected.column((name,)):
                add("partition column", "low", file, "the table is partitioned by it", column)
        for name, text in configuration(metadata).items():
            if name.startswith(_CONSTRAINT):
                if columns := protected.within(text):
                    add("constraint", "high", file, "a constraint names it, with the values in it", *columns)
            elif not name.lower().startswith(("delta.", ENCRYPTION)):
                self._text(file, "a table property", f"{name} {text}")
        for name in ("name", "description"):
            self._text(file, f"{name} of the table", metadata.get(name))
        try:
            for one in schema(metadata):
                self._field(file, one)
        except UnreadableError as unreadable:
            self._findings.unread(file, f"a schema was not read: {unreadable}")

    def _field(self, file: str, one: Field) -> None:
        add, protected = self._findings.add, self._protected
        column = protected.column(one.physical) or protected.column(one.logical)
        for name, value in one.metadata.items():
            if name in _PLAIN:
                continue
            others = [other for other in protected.within(value) if other != column]
            if name == _GENERATED:
                # A generated column that is protected shows nothing but its expression.
                if others and column is None:
                    what = "a column that is not protected is generated from it"
                    add("generated column", "high", file, what, *others)
                continue
            if others:
                add("text", "low", file, "metadata of another column names it, perhaps with values", *others)
            if column and name in _DEFAULTS:
                add("default", "high", file, "its default value is readable", column)
            elif column and name in _IDENTITY:
                add("statistics", "high", file, "bounds of this identity column are readable", column)
            elif column and name == "comment":
                add("free text", "note", file, "it has a comment, which may contain anything", column)


def _is_redacted(text: str) -> bool:
    """Whether the guard of commits has left nothing else of a text."""
    return _REDACTED in text and _AROUND.fullmatch(text.replace(_REDACTED, "")) is not None


def _has_no_predicate(text: str) -> bool:
    """Whether it is a list of clauses of MERGE without conditions."""
    return text.startswith("[{") and '"predicate"' not in text


def _word(name: str) -> str:
    """A name of the protocol; anything else may be a value."""
    return name if name.isascii() and name.replace("_", "").replace(" ", "").isalpha() else "a field"
