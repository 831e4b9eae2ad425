"""`scripts/prose` finds what it is meant to find, and nothing in good English."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

from tests.support import needs

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "prose"


@pytest.fixture(scope="module")
def prose() -> Any:
    loader = SourceFileLoader("prose", str(SCRIPT))
    spec = spec_from_loader("prose", loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules["prose"] = module
    # A cache next to the script would become a file of the tree.
    keep, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = keep
    return module


def wording(prose: Any, markdown: str) -> list[str]:
    return [str(fault) for fault in prose.wording(Path("page.md"), prose.prose_of(markdown))]


def layout(prose: Any, markdown: str) -> list[str]:
    return [str(fault) for fault in prose.layout(Path("page.md"), prose.prose_of(markdown))]


@pytest.mark.parametrize(
    "sentence",
    [
        "The doctor tells which jar is missing.",
        "The reader is told of its own filters only.",
        "The file is written anew.",
        "A struct of which one field is refused counts as masked.",
        "Among its files are such as are no longer the table's.",
        "Columns are masked only where the read says so.",
        "A second session finds what stands in the manifest.",
        "Who can read a column can also forge it.",
        "- Who can read a column can also forge it.",
        "The warm-up takes some 60 ms.",
        "The the file is gone.",
        "It needs a repository, for nothing is published.",
    ],
)
def test_each_planted_sentence_is_found(prose: Any, sentence: str) -> None:
    [fault] = wording(prose, f"# Title\n\n{sentence}\n")
    assert fault.startswith("page.md:3: ")


@pytest.mark.parametrize(
    "sentence",
    [
        "The doctor shows which jar is missing.",
        "Who holds the key?",
        "## Who calls the KMS",
        "The option `tells` and [the page](what-stands-in.md) keep their names.",
        "```\nit tells what stands in it\n```",
        "<!-- it tells -->",
    ],
)
def test_good_sentences_and_code_pass(prose: Any, sentence: str) -> None:
    assert wording(prose, f"{sentence}\n") == []


@pytest.mark.parametrize(
    ("markdown", "fault"),
    [
        (f"{'word ' * 25}\n", "page.md:1: 125 columns"),
        ("One sentence. And another.\n", "page.md:1: more than one sentence on a line"),
        ("- Is it? `code` starts the next.\n", "page.md:1: more than one sentence on a line"),
        ("Fine.\n\n**Context.** One sentence. And another.\n", "page.md:3: more than one sentence on a line"),
    ],
)
def test_bad_layout_is_found(prose: Any, markdown: str, fault: str) -> None:
    [found] = layout(prose, markdown)
    assert found.startswith(fault)


@pytest.mark.parametrize(
    "markdown",
    [
        f"| {'cell. Cell ' * 20} |\n",
        f"```\n{'Code. ' * 30}\n```\n",
        f"See [the page](https://example.org/{'x' * 150}).\n",
        "**Context.** One sentence, e.g. This one.\n1. Another sentence.\n",
        "One sentence\non two lines.\nAnother one.\n",
    ],
)
def test_tables_code_and_links_may_be_long(prose: Any, markdown: str) -> None:
    assert layout(prose, markdown) == []


def test_docstrings_and_messages_are_read_on_their_lines(prose: Any) -> None:
    module = 'x = "tells"\n\ndef f() -> None:\n    """It tells\n\n    and `tells` more.\n    """\n'
    assert [line for line in prose.docstrings(module).split("\n") if "tells" in line] == ['    """It tells'[7:]]
    scala = '// tells\nval a = s"$path: it tells ${tells(1)}"\nval b = "well"\n'
    assert prose.literals(scala).split("\n")[:3] == ["", " _: it tells _", " well"]


COMMENTS = """\
/** It tells.
  *
  * [[tells]] and {{{
  *   tells(1)
  * }}} and `tells`: it tells.
  * @param told it tells
  */
val url = "https://example.org/tells" // It tells.
val text = \"\"\" // it tells
  /* it tells */ \"\"\"
val quote = '"' // See https://example.org/tells: it tells.
"""
JAVADOC = """\
class A {
  /**
   * It tells, unlike {@code tells} and {@link A#tells}.
   *
   * @throws Told if it tells
   */
  String glob = "/data/*//tells*/"; /* It tells. */
}
"""
SCALA_TESTS = """\
// It tells.
class ASuite {
  test("it tells")(assert(a == "tells"))
  test(
    s"$tells: ${tells(1)} and \\"it\\" tells"
  ) {}
  directory.test("it tells") { at => }
  latest("it tells")
}
"""
PYTHON_TESTS = """\
def tells(): ...
def test_it_tells() -> None: ...
class TestTells:
    async def test_tells_more(self): "tells"
"""


@pytest.mark.parametrize(
    ("file", "source", "lines"),
    [
        ("jvm/spark/src/main/scala/A.scala", COMMENTS, [1, 5, 6, 8, 11]),
        ("jvm/kms/src/main/java/A.java", JAVADOC, [3, 5, 7]),
        ("jvm/core/src/main/scala/OurErrors.scala", '// It tells.\nval a = "It tells."\n', [1, 2]),
        ("jvm/core/src/test/scala/ASuite.scala", SCALA_TESTS, [3, 5, 7]),
        ("tests/kms/test_a.py", PYTHON_TESTS, [2, 4]),
        ("tests/support/kms/a.py", PYTHON_TESTS, [2, 4]),
        ("python/src/pme_parquet/a.py", '"""It tells."""\n\n\ndef test_it_tells() -> None: ...\n', [1]),
    ],
)
def test_comments_and_names_of_tests_are_read_on_their_lines(
    prose: Any, file: str, source: str, lines: list[int]
) -> None:
    text = prose.prose_in(Path(file), source)
    assert len(text.split("\n")) == len(source.split("\n"))
    assert [fault.line for fault in prose.wording(Path(file), text)] == lines


def test_each_pattern_has_better_wording(prose: Any) -> None:
    patterns = prose.word_list()
    assert len(patterns) > 10
    assert all(advice.strip() for _, advice in patterns)


@needs.package("proselint", "only environments of `make lint` have proselint")
def test_a_planted_fault_fails_the_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nThe doctor tells which jar is missing.\n\nThe very unique file stays for ever.\n")
    run = subprocess.run([sys.executable, str(SCRIPT), str(page)], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    lines = run.stdout.splitlines()
    assert any(line.startswith(f"{page}:3: ") for line in lines)
    assert any("(uncomparables)" in line for line in lines)
    page.write_text("# Title\n\nThe doctor shows which jar is missing.\n")
    assert subprocess.run([sys.executable, str(SCRIPT), str(page)], check=False).returncode == 0
