"""The rows that `make test` runs: each value first, then each pair of values, by order of definition."""

from __future__ import annotations

from itertools import product

import pytest

from tests.support import ran, sample
from tests.support.session import ROOT

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
    files = [str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")]
    assert [prefix for prefix in sample.RULES if not any(file.startswith(prefix) for file in files)] == []


def test_a_test_that_no_spark_runs_is_found() -> None:
    oldest = {"here": 1, "nowhere": 0, "never": ran.SKIPPED, "lacked": ran.SKIPPED}
    newest = {"here": 0, "nowhere": 0, "never": ran.SKIPPED, "lacked": 0}
    assert ran.forgotten([oldest, newest]) == ["lacked", "nowhere"]
