"""docs/spec-map.md: every type, test and refusal that it names exists, and what is not done has a reason."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.docs.named import functions_in, has_type, scala, suites
from tests.support.markdown import ROOT

PAGE = ROOT / "docs" / "spec-map.md"
SPECIFICATIONS = 5
NONE = "\N{EN DASH}"
_ROW = re.compile(r"^\| (.+?) \|$", re.MULTILINE)
_NAME = re.compile(r'`([^`]+)`|"([^"]+)"')
_FOLDER = re.compile(r"^(jvm|python)/[\w-]+$")


class Row(NamedTuple):
    """A row of a table."""

    section: str
    status: str
    where: str
    test: str
    remark: str


def tables() -> list[list[Row]]:
    """Return the tables of the page."""
    head = f"| {' | '.join(field.capitalize() for field in Row._fields)} |\n"
    texts = PAGE.read_text(encoding="utf-8").split(head)[1:]
    return [[Row(*row.split(" | ")) for row in _ROW.findall(text.partition("\n\n")[0])] for text in texts]


def rows() -> list[Row]:
    """Return the rows of all tables."""
    return [row for table in tables() for row in table]


def missing_types(where: str) -> list[str]:
    """Return the types that are not in the folder that follows them, or else in the one before them."""
    names = [name for name, _ in _NAME.findall(where)]
    folder = next((name for name in reversed(names) if _FOLDER.match(name)), "")
    missing = []
    for name in reversed(names):
        if _FOLDER.match(name):
            folder = name
        elif not has_type(folder, name):
            missing.append(f"{name} in {folder or 'no folder'}")
    return missing


def missing_tests(cell: str) -> list[str]:
    """Return the suites, files and tests that do not exist."""
    missing = []
    file, texts = "", list[str]()
    for name, title in _NAME.findall(cell):
        if title:
            found = any(title in text for text in texts)
        elif name.startswith("tests/"):
            file, found = name, (ROOT / name).is_file()
        elif name.startswith("test_"):
            found = name in functions_in(file)
        else:
            texts = suites(name)
            found = bool(texts)
        if not found:
            missing.append(name or title)
    return missing


def test_each_specification_has_its_table_and_each_section_one_row() -> None:
    assert len(tables()) == SPECIFICATIONS
    for table in tables():
        sections = [row.section for row in table]
        assert sorted(sections) == sorted(set(sections))


def test_what_is_done_has_code_and_a_test_and_what_is_not_has_a_reason() -> None:
    for row in rows():
        assert row.status in {"yes", "partly", "no", "does not apply"}, row.section
        if row.status == "yes":
            assert NONE not in {row.where, row.test}, row.section
        else:
            assert row.remark != NONE, row.section


def test_code_that_the_map_names_exists() -> None:
    assert {row.section: missing for row in rows() if (missing := missing_types(row.where))} == {}


def test_tests_that_the_map_names_exist() -> None:
    assert {row.section: missing for row in rows() if (missing := missing_tests(row.test))} == {}


def test_refusals_that_the_map_quotes_are_in_the_code() -> None:
    code = [text for folder in ("core", "kms", "parquet", "snapshot", "orc", "spark") for text in code_of(folder)]
    quoted = {title: row.section for row in rows() for _, title in _NAME.findall(row.remark) if title}
    assert {words: section for words, section in quoted.items() if not any(words in text for text in code)} == {}


def code_of(folder: str) -> list[str]:
    """Return the code of a folder, and the messages of its errors."""
    messages = (ROOT / "jvm" / folder / "src" / "main" / "resources").glob("**/*.json")
    return [*scala(f"jvm/{folder}", "main").values(), *(path.read_text(encoding="utf-8") for path in messages)]


def test_what_does_not_exist_is_found() -> None:
    assert missing_types("`FooterPolicy` in `jvm/core`, `AesGcm.melt` in `jvm/core`; `Nobody`") == [
        "Nobody in jvm/core",
        "AesGcm.melt in jvm/core",
        "FooterPolicy in jvm/core",
    ]
    assert missing_types("`FooterPolicy` in `jvm/parquet`, `AesGcm.open` in `jvm/core`; in copies `ModuleAad`") == []
    cell = '`CipherSuite` "no such title", `NoSuite`, `tests/docs/test_stores.py` `test_nothing`, `tests/no.py`'
    assert missing_tests(cell) == ["no such title", "NoSuite", "test_nothing", "tests/no.py"]
