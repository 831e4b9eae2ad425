"""The rows that `make test` runs, and where: each value first, then each pair of values, by order of definition."""

from __future__ import annotations

from collections import Counter
from itertools import product
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import ran, selection
from tests.support.selection import BESIDE, NEWEST, OLDEST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Its turn is the newest Spark's.
FILE = "tests/python/test_table.py"
COLORS, SIZES, SHAPES = range(3), range(3), range(2)
ROWS = [{"color": color, "size": size, "shape": shape} for color, size, shape in product(COLORS, SIZES, SHAPES)]
EVERY = len(ROWS)


def test_the_first_rows_have_each_value_once() -> None:
    rows = [ROWS[at] for at in selection.in_order(ROWS, 3)]
    assert {row["color"] for row in rows} == set(COLORS)
    assert {row["size"] for row in rows} == set(SIZES)
    assert {row["shape"] for row in rows} == set(SHAPES)


def test_fewer_rows_than_the_product_have_each_pair() -> None:
    rows = [ROWS[at] for at in selection.in_order(ROWS, EVERY)]
    assert len(rows) < len(ROWS)
    for one, other in (("color", "size"), ("color", "shape"), ("size", "shape")):
        assert {(row[one], row[other]) for row in rows} == {(row[one], row[other]) for row in ROWS}


@pytest.mark.parametrize("most", [1, 2, EVERY])
def test_a_test_without_parameters_is_one_row(most: int) -> None:
    assert selection.in_order([{}], most) == [0]


class Item:
    """As much of a test's row as its choice looks at."""

    def __init__(
        self, test: str, values: dict[str, int], *marks: pytest.Mark, spark: bool = True, file: str = FILE
    ) -> None:
        self.nodeid = f"{file}::{test}[{values}]"
        self.callspec = SimpleNamespace(params=values)
        self.fixturenames = ["spark"] if spark else []
        self.marks = marks

    def iter_markers(self, name: str) -> Iterator[pytest.Mark]:
        return (mark for mark in self.marks if mark.name == name)


def mark(name: str, *arguments: object) -> pytest.Mark:
    found: pytest.MarkDecorator = getattr(pytest.mark, name)
    return found(*arguments).mark if arguments else found.mark


def table(test: str, *marks: pytest.Mark, spark: bool = True, file: str = FILE) -> list[Any]:
    return [Item(test, row, *marks, spark=spark, file=file) for row in ROWS]


def run(items: list[Any]) -> dict[str, int]:
    """Return how many rows run in each process that runs some."""
    counts = {process: len(selection.chosen(items, process)) for process in selection.PROCESSES}
    return {process: count for process, count in counts.items() if count}


PAIRS = len(selection.in_order(ROWS, EVERY))


@pytest.mark.parametrize(
    ("marks", "where"),
    [
        ([], {NEWEST: 1}),
        ([mark("rows", 3)], {NEWEST: 3}),
        ([mark("all_rows")], {NEWEST: PAIRS}),
        ([mark("oldest")], {OLDEST: 1}),
        ([mark("newest")], {NEWEST: 1}),
        ([mark("each_spark"), mark("rows", 2)], {OLDEST: 2, NEWEST: 2}),
        ([mark("skipif", "")], {NEWEST: 1}),
        ([mark("nightly")], {}),
        ([mark("nightly"), mark("oldest"), mark("all_rows")], {}),
    ],
    ids=lambda value: "-".join(str(one.name) for one in value) if isinstance(value, list) else "",
)
def test_marks_say_where_a_test_with_spark_runs_and_how_many_of_its_rows(
    marks: list[pytest.Mark], where: dict[str, int]
) -> None:
    assert run(table("test_one", *marks)) == where


@pytest.mark.parametrize(
    ("marks", "where"),
    [
        ([], {BESIDE: PAIRS}),
        ([mark("rows", 3)], {BESIDE: 3}),
        ([mark("oldest")], {OLDEST: PAIRS}),
        ([mark("nightly")], {}),
    ],
    ids=lambda value: "-".join(str(one.name) for one in value) if isinstance(value, list) else "",
)
def test_a_test_without_spark_runs_in_the_third_process_with_all_rows(
    marks: list[pytest.Mark], where: dict[str, int]
) -> None:
    assert run(table("test_one", *marks, spark=False)) == where


def test_all_tests_of_a_file_run_on_one_spark_and_files_take_turns() -> None:
    ran_on = []
    for number in range(20):
        file = f"tests/python/test_{number}.py"
        [process] = run([row for test in ("test_one", "test_two", "test_three") for row in table(test, file=file)])
        ran_on.append(process)
    assert {process: ran_on.count(process) > 5 for process in ran_on} == {OLDEST: True, NEWEST: True}


def test_a_test_that_the_oldest_spark_may_lack_takes_no_turn_there() -> None:
    items = [row for test in ("test_one", "test_two") for row in table(test, mark("skipif", ""))]
    assert run(items) == {NEWEST: 2}


def test_a_skipped_row_takes_no_place() -> None:
    first, *others = ROWS
    items: list[Any] = [
        Item("test_one", first, mark("skipif", "always")),
        *(Item("test_one", row) for row in others),
    ]
    [row] = selection.chosen(items, NEWEST)
    assert row is items[1]


def test_all_processes_together_run_what_each_of_them_runs() -> None:
    items = [
        *table("test_one", mark("rows", 3)),
        *table("test_two"),
        *table("test_three", spark=False),
        *table("test_four", mark("nightly")),
    ]
    each = Counter(item for process in selection.PROCESSES for item in selection.chosen(items, process))
    assert each == Counter(selection.chosen(items, None))


def test_a_nightly_test_is_not_missed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ran, "FOLDER", tmp_path)
    items = table("test_one", mark("nightly"))
    for process in selection.PROCESSES:
        ran.write_down(items, selection.chosen(items, process), process)
        ran.write_seconds(process)
    assert ran.main(["3.5.9", "4.3.0"]) == 0


def test_a_test_that_no_process_runs_is_found() -> None:
    oldest = {"here": 1, "beside": 0, "nowhere": 0, "never": ran.SKIPPED, "lacked": ran.SKIPPED}
    newest = {"here": 0, "beside": 0, "nowhere": 0, "never": ran.SKIPPED, "lacked": 0}
    beside = {"beside": 1}
    assert ran.forgotten([oldest, newest, beside]) == ["lacked", "nowhere"]


def test_a_process_that_recorded_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ran, "FOLDER", tmp_path)
    for process in selection.PROCESSES[:-1]:
        (tmp_path / f"{process}.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match=selection.PROCESSES[-1]):
        ran.main(["3.5.9", "4.3.0"])
