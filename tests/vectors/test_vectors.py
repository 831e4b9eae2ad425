"""The vectors are what their script makes, and other programs open the valid ones that they support.

VectorsSuite of jvm/parquet has what our own reader does with each.
"""

from __future__ import annotations

import datetime as dt
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.vectors import corpus, index, runs, table
from tests.vectors.readers import Program, available
from tests.vectors.valid import PYARROW

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(pa.__version__ != PYARROW, reason=f"PyArrow {PYARROW} wrote the pages")
def test_the_script_makes_the_same_bytes_again() -> None:
    made = corpus.content()
    assert {path.name for path in made} == {index.INDEX.name, *(path.name for path in index.FILES.iterdir())}
    assert [path.name for path, content in made.items() if path.read_bytes() != content] == []


def test_another_pyarrow_writes_no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pa, "__version__", "1.0.0")
    with pytest.raises(ValueError, match=f"PyArrow {PYARROW} writes the pages, and this is 1.0.0"):
        corpus.write()


class Echo(Program):
    """A program of one line of Python."""

    title = "echo"

    def __init__(self, line: str) -> None:
        self.line = line

    def command(self) -> list[str]:
        return [sys.executable, "-c", self.line]


def ran(line: str) -> str:
    [case] = [one for one in index.load().cases if one.id == "key-wrong"]
    [outcome] = runs.run(Echo(line), index.Index({}, [case]))
    return outcome.kind


@pytest.mark.parametrize("line", ["raise SystemExit(1)", "", "print('rows')", 'print(\'{"id": "other", "rows": []}\')'])
def test_a_program_that_crashes_or_gives_no_answer_is_not_counted_as_a_refusal(line: str) -> None:
    with pytest.raises(runs.RunError, match="echo, key-wrong: "):
        ran(line)


def test_a_program_that_says_why_it_does_not_open_a_file_refuses_it() -> None:
    assert ran('print(\'{"id": "key-wrong", "rows": "wrong key"}\')') == runs.REFUSES


def test_each_case_says_what_a_reader_must_do() -> None:
    vectors = index.load()
    named = {flag for case in vectors.cases for flag in case.flags}
    assert named == index.FLAGS.keys()
    for case in vectors.cases:
        # Rows are what a reader that may open the file returns, and flags are why it may not.
        assert (vectors.rows(case) is None) == (case.result == index.INVALID), case.id
        assert bool(case.flags) == (case.result != index.VALID), case.id
        assert ("UnusedModule" in case.flags) == (case.filter is not None), case.id
        # Who has a forged length from elsewhere may open the module, so no query must fail.
        assert not {"UnusedModule", "ModuleLength"} <= {*case.flags}, case.id


@pytest.mark.nightly
def test_other_programs_open_the_valid_files_that_they_support(tmp_path: Path) -> None:
    vectors, done = index.load(), {}
    for reader in available(tmp_path / "classes"):
        title = f"{reader.title} {reader.version()}"
        done[title] = runs.run(reader, vectors)
        valid = [one for one in done[title] if one.case.result == index.VALID]
        assert [one for one in valid if one.kind == runs.OTHER_ROWS] == [], title
        refused = [one for one in valid if one.kind == runs.REFUSES]
        assert [one for one in refused if not {*one.case.features} & {*reader.fails}] == [], title
    on_page = table.columns(table.part(table.PAGE.read_text(encoding="utf-8")))
    made = table.columns(table.table(vectors, done, dt.datetime.now(dt.timezone.utc).date()))
    # Other versions may open other files.
    here = {title: cells for title, cells in made.items() if title in on_page}
    assert here == {title: on_page[title] for title in here}, "run `scripts/vectors docs`"
