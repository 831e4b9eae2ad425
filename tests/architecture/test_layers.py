"""The layers of scripts/layers.txt hold, in Scala and in Python; a forbidden import and a circle are found.

So is a type that other packages use in a file of another name, unless it is a small companion.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
HOUSE = PROJECT / "scripts" / "house"
SECTIONS = ["jvm modules", "jvm packages", "pme_parquet in python/src", "bench in .", "tests in ."]
CORE = "jvm/core/src/main/scala/io/pmeparquet"
PACKAGE = "python/src/pme_parquet"
DISPLAY = f"{PACKAGE}/_display"
USED = ["jvm/spark/src/main/scala/io/pmeparquet/spark/PmeDataSource.scala"]
USED += [f"{PACKAGE}/{name}" for name in ("__init__.py", "_inspect/__init__.py", "_spark/driver.py")]


def check(*arguments: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, HOUSE, "check", *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tree with the rules, and with the files that planted ones use and stand beside."""
    tree = tmp_path_factory.mktemp("house")
    beside = [*(PROJECT / CORE).glob("*.scala"), *(PROJECT / DISPLAY).glob("*.py")]
    for file in [*beside, *map(PROJECT.joinpath, ("scripts/layers.txt", *USED))]:
        copy = tree / file.relative_to(PROJECT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    return tree


@cache
def unplanted(tree: Path, section: str) -> str:
    """Return what the check says of the tree as it was copied."""
    return check("--project", str(tree), section)[1]


def planted(tree: Path, section: str, files: dict[str, str]) -> str:
    """Return the problems that the check finds with these files and not without them."""
    before = unplanted(tree, section)
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    try:
        code, after = check("--project", str(tree), section)
    finally:
        for name in files:
            (tree / name).unlink()
    assert code == 1
    return "\n".join(line for line in after.splitlines() if line not in before.splitlines())


def test_every_section_is_checked() -> None:
    titles = [line.strip("[]") for line in (PROJECT / "scripts/layers.txt").read_text().split("\n") if line[:1] == "["]
    assert titles == SECTIONS


@pytest.mark.parametrize("section", SECTIONS)
def test_the_layers_hold(section: str) -> None:
    assert check(section) == (0, "")


def test_a_forbidden_import_of_a_scala_module_is_reported(copied: Path) -> None:
    text = "package io.pmeparquet\n\nimport io.pmeparquet.spark.PmeDataSource\n\nobject Planted\n"
    assert planted(copied, "jvm modules", {f"{CORE}/Planted.scala": text}).startswith(
        f"{CORE}/Planted.scala:3 imports io.pmeparquet.spark.PmeDataSource, which layer core may not"
    )


def test_a_full_name_counts_as_an_import_and_a_comment_does_not(copied: Path) -> None:
    text = (
        "package io.pmeparquet\n\n/** As io.pmeparquet.spark.PmeTable. */\nobject Planted {\n"
        '  val name = "io.pmeparquet.spark.PmeTable"\n  val x = io.pmeparquet.spark.PmeDataSource\n}\n'
    )
    told = planted(copied, "jvm modules", {f"{CORE}/Planted.scala": text})
    assert f"{CORE}/Planted.scala:6 imports io.pmeparquet.spark.PmeDataSource" in told
    assert "PmeTable" not in told


def test_a_circle_of_scala_packages_is_drawn_line_by_line(copied: Path) -> None:
    one = "package io.pmeparquet.planted.one\n\nimport io.pmeparquet.planted.two.{Two, Other => Else}\n\nobject One\n"
    two = "package io.pmeparquet.planted.two\n\nobject Two\nobject Other {\n  import io.pmeparquet.planted.one._\n}\n"
    files = {f"{CORE}/planted/one/One.scala": one, f"{CORE}/planted/two/Two.scala": two}
    told = planted(copied, "jvm packages", files)
    assert "a circle: planted.one -> planted.two -> planted.one" in told
    assert f"{CORE}/planted/one/One.scala:3 uses io.pmeparquet.planted.two.Two" in told
    assert f"{CORE}/planted/two/Two.scala:5 uses io.pmeparquet.planted.one" in told


def test_a_circle_of_files_in_one_package_is_drawn_line_by_line(copied: Path) -> None:
    one = "package io.pmeparquet.planted\n\n/** As [[Two]]. */\nobject One { val x = Two.y }\n"
    two = "package io.pmeparquet.planted\n\nobject Two { val y = 1 }\nobject Third {\n  val z = One.x\n}\n"
    files = {f"{CORE}/planted/One.scala": one, f"{CORE}/planted/Two.scala": two}
    found = planted(copied, "jvm packages", files)
    assert f"{CORE}/planted/One.scala:4 uses Two" in found
    assert f"{CORE}/planted/Two.scala:5 uses One" in found


def type_of(name: str, lines: int, more: str = "") -> str:
    """Return a class and its companion object, with so many lines of code, and comments and blank lines among them."""
    body = "\n\n".join(f"  // {number}\n  val v{number} = {number}" for number in range(lines - 3))
    return f"final class {name}{more} {{\n{body}\n}}\n\n/** As {name}. */\nobject {name}\n"


def files_with(other: str, users: int) -> dict[str, str]:
    """Return a file with two types, and files of other packages that name the second, which is `Other`."""
    files = {f"{CORE}/planted/One.scala": f"package io.pmeparquet.planted\n\nabstract class One\n\n{other}"}
    for number in range(users):
        text = f"package io.pmeparquet.user{number}\n\nimport io.pmeparquet.planted.Other\n\nobject User\n"
        files[f"{CORE}/user{number}/User.scala"] = text
    return files


def test_a_long_type_of_other_packages_needs_a_file_of_its_name(copied: Path) -> None:
    found = planted(copied, "jvm packages", files_with(type_of("Other", 51), users=1))
    assert f"{CORE}/planted/One.scala:5 has Other, which belongs in a file of its name: it has 51 lines" in found


def test_a_type_that_many_packages_name_needs_a_file_of_its_name(copied: Path) -> None:
    found = planted(copied, "jvm packages", files_with(type_of("Other", 4), users=8))
    assert f"{CORE}/planted/One.scala:5 has Other, which belongs in a file of its name" in found
    assert "other packages that name it are 8" in found


@pytest.mark.parametrize(
    ("other", "users"),
    [
        (type_of("Other", 50), 7),
        (type_of("Other", 60, " extends One"), 8),
        (type_of("Other", 60), 0),
    ],
    ids=["small", "of the family", "of the package"],
)
def test_a_companion_stays_in_the_file(copied: Path, other: str, users: int) -> None:
    assert "which belongs in a file" not in planted(copied, "jvm packages", files_with(other, users))


def test_a_type_whose_name_begins_with_that_of_the_file_stays_in_it(copied: Path) -> None:
    files = {name: text.replace("Other", "OneOther") for name, text in files_with(type_of("Other", 60), 8).items()}
    assert "which belongs in a file" not in planted(copied, "jvm packages", files)


def test_a_forbidden_import_of_a_python_layer_is_reported_wherever_it_is(copied: Path) -> None:
    text = (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from pme_parquet._inspect import Inspection\n\n\n"
        "def show() -> None:\n    from .._spark import driver\n"
    )
    told = planted(copied, "pme_parquet in python/src", {f"{DISPLAY}/planted.py": text})
    assert f"{DISPLAY}/planted.py:4 imports pme_parquet._inspect.Inspection, which layer _display may not" in told
    assert f"{DISPLAY}/planted.py:8 imports pme_parquet._spark.driver, which layer _display may not" in told


def test_a_circle_of_python_modules_is_drawn_line_by_line(copied: Path) -> None:
    one = "def one() -> None:\n    from pme_parquet._display.planted_two import two\n"
    two = "from pme_parquet._display import planted_one\n"
    files = {f"{DISPLAY}/planted_one.py": one, f"{DISPLAY}/planted_two.py": two}
    assert planted(copied, "pme_parquet in python/src", files) == (
        "a circle: pme_parquet._display.planted_one -> pme_parquet._display.planted_two -> "
        "pme_parquet._display.planted_one\n"
        f"    {DISPLAY}/planted_one.py:2 uses pme_parquet._display.planted_two.two\n"
        f"    {DISPLAY}/planted_two.py:1 uses pme_parquet._display.planted_one"
    )


def test_a_package_that_no_rule_declares_is_refused(copied: Path) -> None:
    files = {"python/src/pme_parquet/_planted/__init__.py": ""}
    assert "declares no layer _planted" in planted(copied, "pme_parquet in python/src", files)


def test_a_test_that_imports_another_test_is_refused(tmp_path: Path) -> None:
    for name, text in {
        "scripts/layers.txt": (PROJECT / "scripts/layers.txt").read_text(),
        "tests/one/test_one.py": "from tests.one.test_two import TWO\nfrom tests.two import helpers\n",
        "tests/one/test_two.py": "from tests.support import errors\n\nTWO = 2\n",
        "tests/two/helpers.py": "",
        "tests/support/errors.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    code, told = check("--project", str(tmp_path), "tests in .")
    assert code == 1
    assert told.splitlines() == [
        "tests/one/test_one.py:2 imports tests.two.helpers, which layer one may not ([tests in .])",
        "tests/one/test_one.py:1 imports tests.one.test_two.TWO, which nobody may ([tests in .])",
    ]


def test_the_picture_has_every_layer() -> None:
    command = [sys.executable, str(HOUSE), "draw", "pme_parquet in python/src"]
    drawn = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "graph TD" in drawn
    assert 'n__display["_display"]' in drawn
    assert "n__kms --> n__display" in drawn
    assert "n__cli --> n_errors" not in drawn  # other edges imply it
