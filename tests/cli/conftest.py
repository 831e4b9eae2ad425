"""A plaintext table by PyArrow, the same one encrypted by the command, and commands without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pme_parquet._cli import sessions
from tests.support.commands import Stub, keystore, run, stubbed

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    import pme_parquet as pme

FILES = 3
# What a command takes from the environment.
VARIABLES = ["HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_HOME", "SPARK_CONF_DIR"]
VARIABLES += ["PME_KMS", "PME_MASTER", "PME_OPTIONS_FILE"]


@pytest.fixture(autouse=True)
def no_spark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a command use the session of the tests, or a stub; without one of them it may start none."""

    def fail(*_: object) -> NoReturn:
        raise AssertionError("Spark was started")

    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sessions, "_start", fail)
    if "spark" not in request.fixturenames:
        monkeypatch.setattr(sessions, "_active", fail)


@pytest.fixture
def stub(no_spark: None, monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Stand in for Spark and the operations."""
    return stubbed(monkeypatch)


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "people"
    path.mkdir()
    for number in range(FILES):
        ids = range(number * 100, number * 100 + 100)
        columns = {"id": list(ids), "name": [f"name-{i}" for i in ids], "pay": [float(i) for i in ids]}
        pq.write_table(pa.table(columns), path / f"part-{number}.parquet")
    return path


@pytest.fixture(scope="session")
def kms(keys: pme.Keystore) -> list[str]:
    """Return the options that name the keystore of the tests."""
    return keystore(keys)


@pytest.fixture(scope="session")
def encrypted(spark: SparkSession, people: Path, kms: list[str]) -> Path:
    target = people.parent / "encrypted"
    done = run("encrypt", people, target, "--footer-key", "footer", "--column-key", "pii=name", *kms)
    assert done.code == 0, done.err
    return target
