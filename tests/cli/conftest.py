"""A plaintext table by PyArrow, and the same one encrypted by the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands import keystore, run

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    import pme_parquet as pme

FILES = 3


@pytest.fixture(scope="session", autouse=True)
def shared_session(spark: SparkSession) -> None:
    """Start the tests' own session first: a command would start one without the test kit."""


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
def given(keys: pme.Keystore) -> list[str]:
    """Return the options that name the keystore of the tests."""
    return keystore(keys)


@pytest.fixture(scope="session")
def encrypted(spark: SparkSession, people: Path, given: list[str]) -> Path:
    target = people.parent / "encrypted"
    done = run("encrypt", people, target, "--footer-key", "footer", "--column-key", "pii=name", *given)
    assert done.code == 0, done.err
    return target
