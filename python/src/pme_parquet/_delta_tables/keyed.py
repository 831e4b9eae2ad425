"""What a Delta table's encryption is to be: the key of each column, the table properties, and columns with statistics.

The connector's plan of a write says which column gets which key. Delta's files have physical names under column
mapping, so the properties name columns by these.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._audience import COLUMN_KEYS, UNLISTED, Words
from pme_parquet._delta.columns import PHYSICAL, Field, Schemas, fields, fold, joined, split
from pme_parquet._delta.protected import Protected, named
from pme_parquet._display.words import printable
from pme_parquet._plan import plan_of
from pme_parquet._spark.driver import method_of
from pme_parquet.errors import BY_CONDITION, BadOptionError, PmeError, UnknownColumnError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pme_parquet._delta_tables.logged import LoggedTable, Version
    from pme_parquet._plan import Plan

FOOTER = "parquet.encryption.footer.key"
COLUMNS = "parquet.encryption.column.keys"
UNIFORM = "parquet.encryption.uniform.key"
COMPLETE = "parquet.encryption.complete.columns"
ALGORITHM = "parquet.encryption.algorithm"
KEYS = (FOOTER, COLUMNS, UNIFORM, COMPLETE, ALGORITHM)
STATISTICS = "delta.dataSkippingStatsColumns"
INDEXED = "delta.dataSkippingNumIndexedCols"
_MOST_INDEXED = 32
_SIMPLE = re.compile(r"[\w.*@#$-]+")
# Of these types Delta takes minimum and maximum.
_SKIPPING = re.compile(r"byte|short|integer|long|float|double|date|timestamp|timestamp_ntz|string|decimal\(.*\)")
_ORDERED = re.compile(rf"{_SKIPPING.pattern}|boolean|binary")


@dataclass(frozen=True)
class Keyed:
    """The keys of a table's columns.

    Attributes:
        columns: the key of each leaf column; None if it stays readable.
        expected: the same by physical name, as files have it.
        properties: the table properties for it.
        statistics: the columns whose minimum and maximum may be in the log; empty if there are none.
        named: the columns that no text of the log may name.
        partitions: the partition columns by physical name.
    """

    columns: dict[str, str | None]
    expected: dict[str, str | None]
    properties: dict[str, str]
    statistics: tuple[str, ...]
    named: tuple[str, ...]
    partitions: tuple[str, ...]

    @property
    def silent(self) -> frozenset[tuple[str, ...]]:
        """The physical paths of columns that have no statistics in the log."""
        return frozenset(fold(split(name)) for name, key in self.expected.items() if key is not None)


def keyed(table: LoggedTable, version: Version, options: Mapping[str, str], where: str) -> Keyed:
    """The keys of a version's columns.

    Raises:
        UnknownColumnError: a pattern matches no column.
        UnsupportedError: a protected column is readable in the log or in names of directories whatever its key is.
        PmeError: a write with these options would fail.
    """
    plan = _planned(table, version.schema, version.partitions, options, where)
    physical = physical_schema(version.schema)
    parts = tuple(_physical_name(version.schema, name) for name in version.partitions)
    patterns = _patterns(plan, _planned(table, physical, parts, _uniform(options), where))
    wanted = dict(options)
    if patterns:
        wanted["columnKeys"] = json.dumps(patterns)
    files = _planned(table, physical, parts, wanted, where)
    if [column.key for column in files.columns] != [column.key for column in plan.columns]:
        raise BadOptionError(
            f"{where}: a pattern of {COLUMN_KEYS} does not fit the physical names of the table's columns. Name columns "
            f"as {Words('pme.plan')} shows them."
        )
    columns = {column.name: column.key for column in plan.columns if column.by != "partition column"}
    chosen = [column.name for column in plan.columns if column.by == "column key"] or list(columns)
    found = Keyed(
        columns,
        {column.name: column.key for column in files.columns if column.by != "partition column"},
        _properties(options, patterns),
        tuple(_statistics(version, columns, table.clustering())),
        tuple(chosen),
        parts,
    )
    _refuse_shown(version, found, table.clustering(), where, every=not patterns)
    return found


def order_of(version: Version, found: Keyed) -> str | None:
    """A column that rows can be ordered by: a readable one if there is any; None if there is no column at all."""
    able = [
        one
        for one in _leaves(version)
        if _ORDERED.fullmatch(one.kind) and one.logical[0] not in version.partitions and not one.inside
    ]
    readable = [one for one in able if found.columns.get(joined(one.logical)) is None]
    names = [joined(one.logical) for one in (readable or able)]
    return names[0] if names else None


def _planned(
    table: LoggedTable, schema: str, partitions: Sequence[str], options: Mapping[str, str], where: str
) -> Plan:
    of = method_of(table.spark, "WritePlan", "of", where)
    made: Any = of(table.schema(schema), list(partitions), dict(options))
    plan = plan_of(json.loads(made.json()))
    if plan.refusal is not None:
        raise BY_CONDITION.get(plan.refusal.condition, PmeError)(plan.refusal.message)
    if plan.unmatched:
        patterns = ", ".join(f"'{printable(one.pattern)}'" for one in plan.unmatched)
        names = ", ".join(printable(column.name) for column in plan.columns)
        raise UnknownColumnError(f"{where}: {patterns} of {COLUMN_KEYS} match no column of the table: {names}.")
    return plan


def _uniform(options: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in options.items() if name not in {"columnKeys", "unlistedColumns"}}


def _patterns(plan: Plan, physical: Plan) -> dict[str, list[str]]:
    """The patterns of column keys by physical names; a pattern of a struct stays one of the struct."""
    found: dict[str, list[str]] = {}
    for column, file in zip(plan.columns, physical.columns, strict=True):
        if column.by != "column key" or column.key is None or column.pattern is None:
            continue
        depth = len(split(column.pattern))
        pattern = joined(split(file.name)[:depth])
        if pattern not in found.setdefault(column.key, []):
            found[column.key].append(pattern)
    return found


def _properties(options: Mapping[str, str], patterns: Mapping[str, Sequence[str]]) -> dict[str, str]:
    made = {FOOTER: options["footerKey"]}
    if patterns:
        simple = all(_SIMPLE.fullmatch(name) for key, names in patterns.items() for name in (key, *names))
        text = "; ".join(f"{key}: {', '.join(names)}" for key, names in patterns.items())
        made[COLUMNS] = text if simple else json.dumps(patterns)
        if options.get("unlistedColumns") != "plaintext":
            made[COMPLETE] = "true"
    if "algorithm" in options:
        made[ALGORITHM] = options["algorithm"]
    return made


@dataclass(frozen=True)
class _Leaf:
    logical: tuple[str, ...]
    kind: str
    inside: bool
    """Whether it is in a struct."""


def _leaves(version: Version) -> list[_Leaf]:
    """The leaf columns that are not in lists and maps, in their order."""

    def below(node: Any, above: tuple[str, ...]) -> Iterable[_Leaf]:  # noqa: ANN401 of JSON
        for one in node["fields"]:
            path = (*above, one["name"])
            if isinstance(one["type"], str):
                yield _Leaf(path, one["type"], len(path) > 1)
            elif one["type"].get("type") == "struct":
                yield from below(one["type"], path)

    return list(below(json.loads(version.schema), ()))


def _statistics(version: Version, columns: Mapping[str, str | None], clustering: Sequence[str]) -> list[str]:
    """The readable columns that have statistics now: the first ones, if no property says which."""
    able = [
        joined(one.logical)
        for one in _leaves(version)
        if _SKIPPING.fullmatch(one.kind) and one.logical[0] not in version.partitions
    ]
    now = version.properties.get(STATISTICS)
    if now is not None:
        wanted = {fold(split(name.strip())) for name in now.split(",") if name.strip()}
        able = [name for name in able if any(fold(split(name))[: len(path)] == path for path in wanted)]
    else:
        count = int(version.properties.get(INDEXED, _MOST_INDEXED))
        first = able if count < 0 else able[:count]
        able = [name for name in able if name in first or name in clustering]
    # The rules of a session know whole columns, so a struct with a protected field has no statistics.
    hidden = {fold(split(name))[0] for name, key in columns.items() if key is not None}
    return [name for name in able if columns.get(name, "") is None and fold(split(name))[0] not in hidden]


def _refuse_shown(version: Version, found: Keyed, clustering: Sequence[str], where: str, *, every: bool) -> None:
    """Refuses columns whose values Delta shows whatever their keys are.

    Raises:
        UnsupportedError: says where.
    """
    schemas = Schemas()
    schemas.add(tuple(fields(version.schema)))
    protected = Protected(schemas.every(), every=True) if every else named(found.named, schemas, where)
    if every and version.partitions:
        raise UnsupportedError(
            f"{where}: without {COLUMN_KEYS} all columns are protected, and names of directories show the values of "
            f"the partition columns ({', '.join(map(printable, version.partitions))}). Name the other columns in "
            f"{COLUMN_KEYS}."
        )
    for name in clustering:
        if found.columns.get(name, "") is not None:
            raise UnsupportedError(
                f"{where}: the table is clustered by {printable(name)}, which Delta does by its minimum and maximum in "
                "the log, and it would be encrypted. Cluster by other columns (ALTER TABLE … CLUSTER BY), or leave it "
                f"readable with {UNLISTED}."
            )
    for name, text in version.properties.items():
        if name.startswith("delta.constraints.") and (columns := protected.within(text)):
            raise _shown(where, "a CHECK constraint", columns, "Drop the constraint")
    for one in fields(version.schema):
        _refuse_field(one, protected, where)


def _refuse_field(one: Field, protected: Protected, where: str) -> None:
    own = protected.column(one.logical)
    expression = one.metadata.get("delta.generationExpression")
    if expression is not None and (columns := protected.within(expression)):
        raise _shown(where, f"the generated column {printable(joined(one.logical))}", columns, "Drop that column")
    if own and {"CURRENT_DEFAULT", "EXISTS_DEFAULT"} & one.metadata.keys():
        raise _shown(where, "a default", (own,), "Copy the rows to a table without it")
    if own and any(name.startswith("delta.identity.") for name in one.metadata):
        raise _shown(where, "the bounds of an identity column", (own,), "Leave the column readable")


def _shown(where: str, what: str, columns: Sequence[str], remedy: str) -> UnsupportedError:
    names = ", ".join(map(printable, columns))
    return UnsupportedError(
        f"{where}: {what} shows something of {names} in the table's log. {remedy}, and run it again."
    )


def physical_schema(schema: str) -> str:
    def renamed(node: Any) -> Any:  # noqa: ANN401 of JSON
        if isinstance(node, list):
            return [renamed(one) for one in node]
        if not isinstance(node, dict):
            return node
        made = {name: value if name == "metadata" else renamed(value) for name, value in node.items()}
        if "name" in node:
            made["name"] = node.get("metadata", {}).get(PHYSICAL, node["name"])
        return made

    return json.dumps(renamed(json.loads(schema)))


def _physical_name(schema: str, name: str) -> str:
    for one in json.loads(schema)["fields"]:
        if one["name"] == name:
            return str(one.get("metadata", {}).get(PHYSICAL, name))
    return name
