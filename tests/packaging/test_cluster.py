"""The wheels and the jar as libraries of a cluster: executors get the jars, the keys and nothing else.

Their refusals reach the driver.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

import pme_parquet as pme
from tests.packaging.places import ACCP_WHEEL, KEYS, KEYS_VARIABLE, fresh_python, submit
from tests.support import archive, needs, session

# tests/kms/test_cluster.py has executors, with the jar of the same wheel.
pytestmark = pytest.mark.nightly


@dataclass(frozen=True)
class Ran:
    """A job of a Python that has only the wheels, what they name, and PySpark."""

    printed: str
    python: Path
    table: Path


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """Return the job on a cluster whose executors do not have the driver's secret in their environment."""
    folder = tmp_path_factory.mktemp("cluster")
    fewer, python, table = folder / "fewer.txt", fresh_python(folder / "fresh", ACCP_WHEEL), folder / "table"
    fewer.write_text(KEYS.splitlines()[0])
    settings = {
        "spark.master": "local-cluster[1,1,1024]",
        "spark.executor.memory": "1g",
        **archive.OF_EXECUTORS,
        f"spark.executorEnv.{KEYS_VARIABLE}": "not-the-keys",
        # Of a class that is not there, Spark warns.
        "spark.sql.extensions": "org.example.Extension",
    }
    jar = ["--jars", f"{pme.jar_path()},{session.testkit_jar()}"]
    yield Ran(submit("cluster_library.py", [str(table), str(fewer)], settings, str(python), jar), python, table)
    shutil.rmtree(Path(pyspark.__file__).parent / "work")  # on a cluster of SPARK_HOME, the executors' folders are here


def test_executors_get_the_jar_and_the_keys_from_the_driver(ran: Ran) -> None:
    assert "ROWS 100" in ran.printed


@needs.accp
def test_executors_get_amazons_jar_of_the_extra_and_read_by_its_provider(ran: Ran) -> None:
    assert "AMAZONS 4950" in ran.printed


def test_a_reader_that_lacks_a_columns_key_reads_the_others(ran: Ran) -> None:
    assert "OTHERS 4950" in ran.printed


def test_a_refusal_on_an_executor_comes_back_with_its_condition_file_and_column(ran: Ran) -> None:
    [refused] = [line for line in ran.printed.splitlines() if line.startswith("REFUSED ")]
    assert refused.startswith("REFUSED PME_KEY_NOT_FOUND [PME_KEY_NOT_FOUND] ")
    assert ".parquet" in refused
    assert "name" in refused


def test_the_wheel_is_used_and_the_jar_is_there_once(ran: Ran) -> None:
    assert f"PACKAGE {ran.python.parents[1]}" in ran.printed
    [jars] = re.findall(r"^JARS .*$", ran.printed, re.MULTILINE)
    assert jars.count(Path(pme.jar_path()).name) == 1


def test_other_jars_and_extensions_of_spark_submit_stay(ran: Ran) -> None:
    [jars] = re.findall(r"^JARS .*$", ran.printed, re.MULTILINE)
    assert session.testkit_jar().name in jars
    assert f"EXTENSIONS org.example.Extension,{session.EXTENSION}\n" in ran.printed


def test_the_wheel_installs_the_command_and_names_all_that_it_needs(ran: Ran) -> None:
    command = [str(ran.python.with_name("pme-parquet")), "inspect", str(ran.table)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert " encrypted  AES_GCM_V1 " in done.stdout
