"""Which tests `make test` runs, and in which of its three processes. `make test-all` runs every test on every Spark.

1. A test that does not use the fixture ``spark`` runs in the third process, with the newest Spark's packages.
2. Each other test runs once: a file's on the newest Spark or on the oldest, which share the fixtures of no file.
   ``@each_spark`` runs a test on both, ``@newest`` and ``@oldest`` on one of them.
3. Of a table, that is a test with parameters, it runs one row. ``@rows(n)`` makes that n, ``@all_rows`` all that add a
   pair of values: rows come in an order in which each value comes first, then each pair. Without ``spark``, all run.
4. ``@nightly`` leaves a test to `make test-all`: it takes long, and another test shows most of it.

The marks are those of pytest: ``pytest.mark.rows(2)``. A checksum of a file's name chooses its Spark, so that a process
that collects fewer files chooses the same. Rows depend on the order in which values are defined, and on no name.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pytest

# One process runs the tests of the oldest Spark, two those of the newest.
PROCESSES = OLDEST, NEWEST, BESIDE = "oldest", "newest", "beside"


def chosen(items: Iterable[pytest.Item], process: str | None) -> set[pytest.Item]:
    """Return the rows that one of ``PROCESSES`` runs; without a process, those that all run together."""
    return {
        item
        for rows in _tables(items)
        if (process in processes(rows) if process else not is_nightly(rows[0]))
        for item in _first(rows)
    }


def files(items: Iterable[pytest.Item]) -> dict[str, list[str]]:
    """Return the files of which each of ``PROCESSES`` runs a test."""
    found = {(process, _file(rows[0])) for rows in _tables(items) for process in processes(rows)}
    return {one: sorted(file for process, file in found if process == one) for one in PROCESSES}


def _tables(items: Iterable[pytest.Item]) -> Iterable[list[pytest.Item]]:
    """Return the rows of each test."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(name(item), []).append(item)
    return tests.values()


def name(item: pytest.Item) -> str:
    """Return the name of a test, which all of its rows share."""
    return item.nodeid.partition("[")[0]


def is_nightly(item: pytest.Item) -> bool:
    """Return whether only `make test-all` runs the test."""
    return any(item.iter_markers("nightly"))


def processes(rows: Sequence[pytest.Item]) -> tuple[str, ...]:
    """Return which of ``PROCESSES`` run a test, which has these rows."""
    first = rows[0]
    if is_nightly(first):
        return ()
    for where in (OLDEST, NEWEST):
        if any(first.iter_markers(where)):
            return (where,)
    if not _uses_spark(first):
        return (BESIDE,)
    if any(first.iter_markers("each_spark")):
        return (NEWEST, OLDEST)
    # The oldest Spark may lack the tested feature.
    is_conditional = all(any(item.iter_markers("skipif")) for item in rows)
    return (NEWEST,) if is_conditional or _turn(first) == 0 else (OLDEST,)


def _turn(item: pytest.Item) -> int:
    return crc32(_file(item).encode()) % 2


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def is_skipped(item: pytest.Item) -> bool:
    """Return whether a test is known to be skipped before it runs."""
    return any(mark.args[0] for mark in item.iter_markers("skipif"))


def _uses_spark(item: pytest.Item) -> bool:
    return "spark" in getattr(item, "fixturenames", ())


def _first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    marked = [int(mark.args[0]) for mark in items[0].iter_markers("rows")]
    # A skipped row takes no place.
    rows = [item for item in items if not is_skipped(item)] or list(items)
    has_all = any(items[0].iter_markers("all_rows")) or not _uses_spark(items[0])
    most = marked[0] if marked else len(rows) if has_all else 1
    return [rows[at] for at in in_order(numbers(rows), most)]


def in_order(rows: Sequence[Mapping[str, int]], most: int) -> list[int]:
    """Return the places of the first rows: each adds the most new values, and then the most new pairs.

    A row has the number of each parameter's value. Rows that add no pair of values are left out.
    """
    values = [set(row.items()) for row in rows]
    pairs = [set(combinations(sorted(row.items()), 2)) for row in rows]
    taken: list[int] = []
    for _ in range(min(most, len(rows))):
        best = max(range(len(rows)), key=lambda at: (len(values[at]), len(pairs[at]), -at))
        if taken and not pairs[best] and not values[best]:
            break
        taken.append(best)
        seen_values, seen_pairs = values[best], pairs[best]
        values = [row - seen_values for row in values]
        pairs = [row - seen_pairs for row in pairs]
    return sorted(taken)


def numbers(items: Sequence[pytest.Item]) -> list[dict[str, int]]:
    """Return each test's values as numbers: the first value of a parameter is 0, the next other one 1."""
    seen: dict[str, list[object]] = {}
    made = []
    for item in items:
        row: Any = getattr(item, "callspec", None)
        values: dict[str, object] = row.params if row else {}
        made.append({name: _number(value, seen.setdefault(name, [])) for name, value in values.items()})
    return made


def _number(value: object, seen: list[object]) -> int:
    for at, other in enumerate(seen):
        # Values of tests need not be comparable: frames are not.
        if other is value or (type(other) is type(value) and isinstance(value, (str, int, bytes)) and other == value):
            return at
    seen.append(value)
    return len(seen) - 1
