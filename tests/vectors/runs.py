"""Runs the vectors in other programs, and says what each did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.vectors.index import INVALID, VALID, Case, Index, Rows

if TYPE_CHECKING:
    from tests.vectors.readers import Reader

OPENS, REFUSES, OTHER_ROWS = "opens", "refuses", "other rows"
UNSUPPORTED, NOT_RUN = "says it does not support this", "not run"


class RunError(Exception):
    """The run itself failed: a program crashed, gave no answer, or was called wrongly. It tells nothing of a file."""


@dataclass(frozen=True)
class Outcome:
    """What a program did with a case, and its words."""

    case: Case
    kind: str
    words: str = ""


def outcome(reader: Reader, case: Case, rows: Rows | None) -> Outcome:
    """Run a case. `rows` are those that the index states."""
    why = reader.not_run(case)
    if why:
        return Outcome(case, NOT_RUN, why)
    try:
        found = reader.read(case)
    except reader.refusals() as failed:
        says = any(words in str(failed) for words in reader.says)
        return Outcome(case, UNSUPPORTED if says else REFUSES, f"{type(failed).__name__}: {failed}")
    except Exception as failed:
        raise RunError(f"{reader.title}, {case.id}: {failed!r}") from failed
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
