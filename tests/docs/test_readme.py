from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.docs.commands import environment, shell
from tests.docs.masks import same
from tests.docs.reader import Reader, in_directory
from tests.docs.typed import to_type
from tests.support import needs
from tests.support.markdown import ROOT, code_blocks
from tests.support.session import NEWEST

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

README = ROOT / "README.md"
JARS = ROOT / "target" / "jars"
WHEEL = f"target/wheel/pme_parquet-{pme.__version__}-py3-none-any.whl"


is_of_the_newest_spark = needs.spark(NEWEST, "the README installs the newest Spark")


@pytest.mark.newest
@is_of_the_newest_spark
def test_what_the_readme_has_a_reader_type_writes_and_reads_an_encrypted_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    install, create, code, inspect = to_type(README)
    assert [block.language for block in (create, code, inspect)] == ["bash", "python", "bash"]
    # This environment has what that installs.
    assert install.code.splitlines() == ["make wheel", f"pip install {WHEEL} pyspark"]
    reader = Reader(spark, tmp_path, {})
    with in_directory(spark, tmp_path):
        reader.type(create)
        assert_as_shown(reader.type(code), reader.type(inspect), tmp_path)


@pytest.mark.slow
@pytest.mark.nightly
@is_of_the_newest_spark
def test_readme_commands_work_in_a_new_environment(tmp_path: Path) -> None:
    install, *typed = to_type(README)
    assert [block.language for block in typed] == ["bash", "python", "bash"]
    variables = of_a_new_python(tmp_path)
    shell(ROOT, install.code, variables=variables)
    [python] = [block for block in typed if block.language == "python"]
    (tmp_path / "readme.py").write_text(python.code)
    script = [block.code if block.language == "bash" else "python readme.py" for block in typed]
    printed = shell(tmp_path, "\n".join(script), variables=variables)
    assert_as_shown(printed, printed[printed.rindex("people: ") :], tmp_path)


def assert_as_shown(printed: str, inspected: str, directory: Path) -> None:
    """Fail unless the README's program and its last command print what it says, and each file is encrypted."""
    assert re.search(r"2\|Grace\|555-0102\|", printed)
    shown = to_type(README)[-1].shown
    assert shown
    assert same(shown, inspected, directory), inspected
    files = list((directory / "people").glob("*.parquet"))
    assert files
    assert all(file.read_bytes().endswith(b"PARE") for file in files)


def of_a_new_python(directory: Path) -> dict[str, str]:
    """Return the environment of an interpreter with nothing installed; it will get the tests' versions of packages."""
    subprocess.run([sys.executable, "-m", "venv", str(directory / "new")], check=True)
    listed = subprocess.run([sys.executable, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout
    constraints = directory / "constraints.txt"
    constraints.write_text("".join(f"{line}\n" for line in listed.splitlines() if "==" in line))
    return environment(directory / "new" / "bin" / "python") | {"PIP_CONSTRAINT": str(constraints)}


def test_quickstart_is_the_code_of_the_readme() -> None:
    [code] = code_blocks(README, "python")
    assert (ROOT / "examples" / "quickstart.py").read_text().endswith(code)


def test_readme_names_make_targets_that_exist() -> None:
    rules = re.findall(r"^([\w.$()/ -]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    targets = {target for rule in rules for target in rule.split()}
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", README.read_text(), re.MULTILINE))
    assert {"demo", "test"} <= named
    assert named - targets == set()


def test_readme_table_names_the_jars_that_are_built() -> None:
    named = re.findall(r"`io\.pmeparquet:([\w.-]+):([\d.]+)`", README.read_text())
    assert {f"{name}-{version}.jar" for name, version in named} == {jar.name for jar in JARS.glob("*.jar")}
