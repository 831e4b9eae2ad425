"""Searches the metadata of a table: defaults, generated columns, constraints, and other texts in its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._delta.columns import PHYSICAL, Field, fields
from pme_parquet._logs.bounds import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pme_parquet._delta.findings import Findings

_DEFAULTS = frozenset({"CURRENT_DEFAULT", "EXISTS_DEFAULT"})
_IDENTITY = frozenset({"delta.identity.highWaterMark", "delta.identity.start"})
_GENERATED = "delta.generationExpression"
_PLAIN = frozenset({PHYSICAL, "delta.columnMapping.id", "delta.identity.step", "delta.identity.allowExplicitInsert"})
_CONSTRAINT = "delta.constraints."
ENCRYPTION = "parquet.encryption."


def configuration(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The properties of a table, from its metadata."""
    found = metadata.get("configuration")
    # PyArrow returns a map as pairs.
    pairs = found.items() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return {str(pair[0]): str(pair[1]) for pair in pairs if isinstance(pair, tuple) and len(pair) == 2}  # noqa: PLR2004


def partitions(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The partition columns of a table, from its metadata."""
    return tuple(_texts(metadata.get("partitionColumns")))


def schema(metadata: Mapping[str, Any]) -> tuple[Field, ...]:
    """The fields of a table, from its metadata.

    Raises:
        UnreadableError: they cannot be read.
    """
    text = metadata.get("schemaString")
    return tuple(fields(text)) if isinstance(text, str) else ()


def search_metadata(findings: Findings, file: str, metadata: Mapping[str, Any]) -> None:
    """Adds what the metadata of a table shows of protected columns."""
    protected = findings.protected
    for name in _texts(metadata.get("partitionColumns")):
        if column := protected.column((name,)):
            findings.add("partition column", "low", file, "the table is partitioned by it", column)
    _properties(findings, file, metadata)
    for name in ("name", "description"):
        if columns := protected.within(metadata.get(name) or ""):
            findings.add("text", "low", file, f"the table's {name} names it, perhaps with values", *columns)
    try:
        for one in schema(metadata):
            _field(findings, file, one)
    except UnreadableError as unreadable:
        findings.unread(file, f"a schema was not read: {unreadable}")


def _properties(findings: Findings, file: str, metadata: Mapping[str, Any]) -> None:
    protected = findings.protected
    for name, text in configuration(metadata).items():
        if name.startswith(_CONSTRAINT):
            if columns := protected.within(text):
                findings.add("constraint", "high", file, "a constraint names it, with the values in it", *columns)
        elif not name.lower().startswith(("delta.", ENCRYPTION)) and (columns := protected.within(f"{name} {text}")):
            findings.add("text", "low", file, "a table property names it, perhaps with values", *columns)


def _field(findings: Findings, file: str, one: Field) -> None:
    protected = findings.protected
    column = protected.column(one.physical) or protected.column(one.logical)
    for name, value in one.metadata.items():
        if name in _PLAIN:
            continue
        others = [other for other in protected.within(value) if other != column]
        if name == _GENERATED:
            # A generated column that is protected shows nothing but its expression.
            if others and column is None:
                what = "a column that is not protected is generated from it"
                findings.add("generated column", "high", file, what, *others)
            continue
        if others:
            findings.add("text", "low", file, "metadata of another column names it, perhaps with values", *others)
        if column and name in _DEFAULTS:
            findings.add("default", "high", file, "its default value is readable", column)
        elif column and name in _IDENTITY:
            findings.add("statistics", "high", file, "bounds of this identity column are readable", column)
        elif column and name == "comment":
            findings.add("free text", "note", file, "it has a comment, which may contain anything", column)


def _texts(values: Any) -> Iterator[str]:  # noqa: ANN401 of JSON
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, str))
