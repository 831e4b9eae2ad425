"""The rows that `make test` runs, and where: each value first, then each pair of values, by order of definition."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import ran, sample
from tests.support.session import ROOT

if TYPE_CHECKING:
    from pathlib import Path

COLORS, SIZES, SHAPES = range(3), range(3), range(2)
ROWS = [{"color": color, "size": size, "shape": shape} for color, size, shape in product(COLORS, SIZES, SHAPES)]


def test_the_first_rows_have_each_value_once() -> None:
    rows = [ROWS[at] for at in sample.in_order(ROWS, 3)]
    assert {row["color"] for row in rows} == set(COLORS)
    assert {row["size"] for row in rows} == set(SIZES)
    assert {row["shape"] for row in rows} == set(SHAPES)


def test_fewer_rows_than_the_product_have_each_pair() -> None:
    rows = [ROWS[at] for at in sample.in_order(ROWS, sample.EVERY)]
    assert len(rows) < len(ROWS)
    for one, other in (("color", "size"), ("color", "shape"), ("size", "shape")):
        assert {(row[one], row[other]) for row in rows} == {(row[one], row[other]) for row in ROWS}


@pytest.mark.parametrize("most", [1, 2, sample.EVERY])
def test_a_test_without_parameters_is_one_row(most: int) -> None:
    assert sample.in_order([{}], most) == [0]


def test_every_rule_matches_existing_tests() -> None:
    names = [
        f"{path.relative_to(ROOT)}::{name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    ]
    assert [prefix for prefix in sample.RULES if not any(name.startswith(prefix) for name in names)] == []


def test_a_test_that_is_left_to_test_all_runs_in_no_process_and_is_not_missed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sample, "RULES", {"tests/": sample.LEFT})
    monkeypatch.setattr(ran, "FOLDER", tmp_path)
    items: Any = [Item("test_one", **row) for row in ROWS]
    for process in sample.PROCESSES:
        kept = sample.chosen(items, process)
        assert kept == set()
        ran.write_down(items, kept, process)
    assert ran.main(["3.5.9", "4.3.0"]) == 0


class Item:
    """As much of a test's row as its choice looks at."""

    def __init__(self, test: str, **values: object) -> None:
        self.nodeid = f"tests/python/test_made.py::{test}[{values}]"
        self.callspec = SimpleNamespace(params=values)

    def iter_markers(self, _: str) -> list[object]:
        return []


@pytest.mark.parametrize("where", [*sample.PROCESSES, sample.SPLIT, sample.TURNS])
def test_each_row_runs_in_one_process(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.setattr(sample, "RULES", {"tests/": sample.Rule(where, 3)})
    items: Any = [Item(test, **row) for test in ("test_one", "test_other") for row in ROWS]
    run = Counter(item for process in sample.PROCESSES for item in sample.chosen(items, process))
    assert run == Counter(sample.chosen(items, None))
    assert run.total() == 6


def test_a_test_that_no_process_runs_is_found() -> None:
    oldest = {"here": 1, "beside": 0, "nowhere": 0, "never": ran.SKIPPED, "lacked": ran.SKIPPED}
    newest = {"here": 0, "beside": 0, "nowhere": 0, "never": ran.SKIPPED, "lacked": 0}
    beside = {"beside": 1}
    assert ran.forgotten([oldest, newest, beside]) == ["lacked", "nowhere"]


def test_a_process_that_recorded_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ran, "FOLDER", tmp_path)
    for process in sample.PROCESSES[:-1]:
        (tmp_path / f"{process}.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match=sample.PROCESSES[-1]):
        ran.main(["3.5.9", "4.3.0"])
