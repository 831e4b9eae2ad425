"""Executors in processes of their own get the jar, the keys and nothing else; their refusals reach the driver."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

import pme_parquet as pme
from tests.packaging.places import KEYS, KEYS_VARIABLE, submit
from tests.support import archive

pytestmark = pytest.mark.oldest


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The output of the job on a cluster whose executors do not have the driver's secret in their environment."""
    folder = tmp_path_factory.mktemp("cluster")
    fewer = folder / "fewer.txt"
    fewer.write_text(KEYS.splitlines()[0])
    settings = {
        "spark.master": "local-cluster[1,1,1024]",
        "spark.executor.memory": "1g",
        **archive.OF_EXECUTORS,
        f"spark.executorEnv.{KEYS_VARIABLE}": "not-the-keys",
    }
    arguments = [str(folder / "table"), str(fewer)]
    yield submit("refused_on_executors.py", arguments, settings, options=["--jars", pme.jar_path()])
    shutil.rmtree(Path(pyspark.__file__).parent / "work")  # on a cluster of SPARK_HOME, the executors' folders are here


def test_executors_get_the_jar_and_the_keys_from_the_driver(printed: str) -> None:
    assert "ROWS 100" in printed


def test_a_reader_that_lacks_a_columns_key_reads_the_others(printed: str) -> None:
    assert "OTHERS 4950" in printed


def test_a_refusal_on_an_executor_comes_back_with_its_condition_file_and_column(printed: str) -> None:
    [refused] = [line for line in printed.splitlines() if line.startswith("REFUSED ")]
    assert refused.startswith("REFUSED PME_KEY_NOT_FOUND [PME_KEY_NOT_FOUND] ")
    assert ".parquet" in refused
    assert "name" in refused
