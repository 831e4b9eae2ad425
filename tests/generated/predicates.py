"""Random conditions over a random table, as SQL text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.generated.kinds import BY_NAME, Field, Kind, quoted, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from tests.generated.tables import Sample

COMPARISONS = ("=", "=", "<=>", "<", "<=", ">", ">=", "<>")


@dataclass(frozen=True)
class Term:
    """An expression of an atomic type, and some of its values."""

    sql: str
    kind: Kind
    values: list[Any]


def terms(table: Sample) -> list[Term]:
    """Return the columns and their fields, each with its first values."""
    found: list[Term] = []
    for at, field in enumerate(table.fields):
        step = max(1, len(table.rows) // 200)
        found += below(quoted(field.name), field, [row[at] for row in table.rows[::step]])
    return found


def below(sql: str, field: Field, values: list[Any]) -> Iterator[Term]:
    """Return the terms of a field and of the fields in it."""
    present = [value for value in values if value is not None]
    if field.kind is not None:
        yield Term(sql, field.kind, present)
    elif field.shape == "struct":
        for at, part in enumerate(field.inner):
            yield from below(f"{sql}.{quoted(part.name)}", part, [value[at] for value in present])
    else:
        yield Term(f"size({sql})", BY_NAME["int"], [len(value) for value in present])
        if field.shape == "array":
            items = [value[0] for value in present if value]
            yield from below(f"get({sql}, 0)", field.inner[0], items)
        else:
            pairs = [pair for value in present for pair in list(value.items())[:1]]
            key = field.inner[0].kind
            if pairs and key is not None:
                item = f"element_at({sql}, {key.literal(pairs[0][0])})"
                yield from below(item, field.inner[1], [pair[1] for pair in pairs])


def structures(table: Sample) -> list[str]:
    """Return the columns and fields of structs that are not atomic."""
    found: list[str] = []
    for field in table.fields:
        if field.kind is None:
            found.append(quoted(field.name))
            if field.shape == "struct":
                found += [f"{quoted(field.name)}.{quoted(part.name)}" for part in field.inner if part.kind is None]
    return found


def condition(rng: Random, table: Sample, depth: int = 3) -> str:
    """Return a random condition."""
    choice = rng.random()
    if depth == 0 or choice < 0.45:
        return leaf(rng, table)
    if choice < 0.65:
        return f"({condition(rng, table, depth - 1)} AND {condition(rng, table, depth - 1)})"
    if choice < 0.85:
        return f"({condition(rng, table, depth - 1)} OR {condition(rng, table, depth - 1)})"
    return f"NOT ({condition(rng, table, depth - 1)})"


def leaf(rng: Random, table: Sample) -> str:
    """Return a condition without AND, OR and NOT."""
    known, odd = terms(table), structures(table)
    choice = rng.random()
    if odd and choice < 0.07:
        return f"{rng.choice(odd)} IS {rng.choice(('', 'NOT '))}NULL"
    if not known:
        return rng.choice(("true", "1 = 2", "NULL"))
    term = rng.choice(known)
    if choice < 0.6:
        return simple(rng, term)
    if choice < 0.7:
        alike = [other for other in known if other.kind == term.kind]
        return f"{term.sql} {rng.choice(COMPARISONS)} {rng.choice(alike).sql}"
    return special(rng, term, known)


def value_of(rng: Random, term: Term) -> Any:
    """Return a value to compare with: mostly one that occurs."""
    return rng.choice(term.values) if term.values and rng.random() < 0.7 else term.kind.draw(rng)


def literal(rng: Random, term: Term) -> str:
    return "NULL" if rng.random() < 0.04 else term.kind.literal(value_of(rng, term))


def simple(rng: Random, term: Term) -> str:
    """Return a condition that Spark pushes down for most types."""
    choice = rng.random()
    if choice < 0.2:
        return f"{term.sql} IS {rng.choice(('', 'NOT '))}NULL"
    if choice < 0.6:
        return f"{term.sql} {rng.choice(COMPARISONS)} {literal(rng, term)}"
    if choice < 0.75:
        return f"{term.sql} BETWEEN {literal(rng, term)} AND {literal(rng, term)}"
    count = rng.choice((1, 2, 3, 5, 11, 30))
    listed = ", ".join(literal(rng, term) for _ in range(count))
    return f"{term.sql} {rng.choice(('', '', 'NOT '))}IN ({listed})"


def special(rng: Random, term: Term, known: list[Term]) -> str:
    """Return a condition made for the type. Spark can push down only a part of these."""
    one, other = literal(rng, term), rng.choice(known)
    compare = rng.choice(COMPARISONS)
    common = [
        f"coalesce({term.sql}, {one}) {compare} {literal(rng, term)}",
        f"CASE WHEN {other.sql} IS NULL THEN {term.sql} {compare} {one} ELSE {simple(rng, other)} END",
        f"IF({simple(rng, other)}, {simple(rng, term)}, NULL)",
        f"hash({term.sql}) % 3 = 0",
        f"isnotnull(nullif({term.sql}, {one}))",
        f"({term.sql} {compare} {one}) <=> ({simple(rng, other)})",
    ]
    return rng.choice(common + of_family(rng, term, other, compare))


def of_family(rng: Random, term: Term, other: Term, compare: str) -> list[str]:
    """Return the conditions for a family of types."""
    family, sql = term.kind.family, term.sql
    if family == "text":
        return [*like(rng, term), f"length({sql}) {compare} {rng.randint(0, 8)}", f"upper({sql}) = 'NAME-1'"]
    if family == "collated":
        cased = value_of(rng, term).swapcase()
        return [f"{sql} {compare} {text(cased)}", f"{sql} IN ({text(cased)}, 'NAME-7')", f"startswith({sql}, 'NAME')"]
    if family in {"number", "float", "decimal"}:
        numbers = {"number", "float", "decimal"}
        arithmetic = [f"{sql} + 1 {compare} {other.sql}"] if other.kind.family in numbers else []
        plain = "0" if family != "float" else rng.choice(("0", "0.0D", "-0.0D", "double('NaN')", "float('-0.0')"))
        return [
            *arithmetic,
            f"{sql} {compare} {plain}",
            f"{sql} * 2 - 1 {compare} {rng.randint(-50, 50)}",
            f"CAST({sql} AS BIGINT) {compare} {rng.randint(-100, 1000)}",
            f"CAST({sql} AS STRING) LIKE '1%'",
            f"CAST({sql} AS DOUBLE) {compare} {rng.randint(-20, 20)}.5D",
        ] + ([f"{rng.choice(('', 'NOT '))}isnan({sql})"] if family == "float" else [])
    if family == "boolean":
        return [sql, f"NOT {sql}", f"{sql} AND {sql}"]
    if family in {"date", "moment"}:
        return [
            f"year({sql}) {compare} 2020",
            f"CAST({sql} AS DATE) {compare} DATE'2020-02-01'",
            f"CAST({sql} AS STRING) > '2020'",
            f"{sql} {compare} '2020-03-04'",
        ]
    return [f"length({sql}) {compare} {rng.randint(0, 5)}", f"substring({sql}, 1, 1) = X'00'"]


def like(rng: Random, term: Term) -> list[str]:
    """Return the ways to search for a part of a text."""
    part = str(value_of(rng, term))[: rng.randint(0, 6)]
    escaped = part.replace("%", r"\%").replace("_", r"\_")
    patterns = [f"{escaped}%", f"%{escaped}%", f"%{escaped}", "a_b", escaped, f"{escaped}_%", "name-%2"]
    spelled = [text(pattern) for pattern in patterns]
    return [f"{term.sql} {rng.choice(('', 'NOT '))}LIKE {one}" for one in spelled] + [
        f"{name}({term.sql}, {text(part)})" for name in ("startswith", "endswith", "contains")
    ]
