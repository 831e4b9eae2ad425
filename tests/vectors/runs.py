"""Runs the vectors in other programs, and says what each did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.vectors.index import INVALID, VALID, Case, Index, Rows

if TYPE_CHECKING:
    from tests.vectors.readers import Reader

OPENS, REFUSES, OTHER_ROWS, UNSUPPORTED = "opens", "refuses", "other rows", "does not support"
NOT_OPENED = REFUSES, OTHER_ROWS


@dataclass(frozen=True)
class Outcome:
    """What a program did with a case, and its words."""

    case: Case
    kind: str
    words: str = ""


def outcome(reader: Reader, case: Case, rows: Rows | None) -> Outcome:
    """Run a case. `rows` are those that the index states."""
    lacking = reader.unsupported(case)
    if lacking:
        return Outcome(case, UNSUPPORTED, lacking)
    try:
        found = reader.read(case)
    # polars' own panics are no `Exception`.
    except BaseException as failed:
        if isinstance(failed, KeyboardInterrupt):
            raise
        return Outcome(case, REFUSES, f"{type(failed).__name__}: {failed}")
    return Outcome(case, OPENS if found == rows else OTHER_ROWS, "" if found == rows else str(found))


def run(reader: Reader, index: Index) -> list[Outcome]:
    """Run all cases."""
    return [outcome(reader, case, index.rows(case)) for case in index.cases]


def counted(outcomes: list[Outcome], result: str = VALID) -> Counter[str]:
    """Return how many cases of a result ended in which way."""
    return Counter(one.kind for one in outcomes if one.case.result == result)


def is_unexpected(one: Outcome) -> bool:
    """Return whether a program opened what it must refuse, refused what is valid, or returned other rows."""
    if one.case.result == INVALID:
        return one.kind in (OPENS, OTHER_ROWS)
    return one.kind == OTHER_ROWS or (one.kind == REFUSES and one.case.result == VALID)
