"""Clients in Python, and sessions: two do not mix, and where no driver is in the process there is a clear error."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.access import read, rows
from tests.support import needs
from tests.support.expect import refused, save
from tests.support.kms.clients import Client
from tests.support.kms.counting import FOOTER, column_keys, encryption, frame

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])


@pytest.fixture(scope="module")
def content(spark: SparkSession) -> DataFrame:
    return frame(spark, 3, 4)


@pytest.fixture(scope="module")
def table(content: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a table whose keys are those of the realm ``north``."""
    path = str(tmp_path_factory.mktemp("north") / "table")
    save(content, path, pme.PythonKms(Client("north")).options() | encryption(3))
    return path


def keys() -> dict[str, int]:
    return dict.fromkeys([FOOTER, *column_keys(3)], 1)


@every_scan
def test_a_client_with_other_keys_opens_nothing_before_or_after_the_right_one(
    spark: SparkSession, table: str, content: DataFrame, scan: str
) -> None:
    north, south = Client("north"), Client("south")
    right, wrong = (pme.PythonKms(client).options() | {"scan": scan} for client in (north, south))
    schema = content.schema
    for _ in range(2):
        with refused("PME_KMS_UNAVAILABLE", "InvalidTag", ".parquet"):
            read(spark, table, wrong).collect()
        assert rows(read(spark, table, right)) == rows(content)
        with refused("PME_KMS_UNAVAILABLE", "InvalidTag"):
            spark.read.format("pme-parquet").schema(schema).options(**wrong).load(table).collect()
    assert north.count("unwrap") == keys()
    assert set(south.count("unwrap")) == {FOOTER}


def test_two_clients_in_one_query_are_each_asked_for_their_own_keys(
    spark: SparkSession, table: str, content: DataFrame, target: str
) -> None:
    north, south = Client("north"), Client("south")
    of_north, of_south = (pme.PythonKms(client).options() for client in (north, south))
    # What one client reads, another writes.
    save(read(spark, table, of_north), target, of_south | encryption(3))
    assert north.count("wrap") == south.count("unwrap") == {}
    assert south.count("wrap") == keys()
    here, there = read(spark, table, of_north), read(spark, target, of_south)
    assert rows(there) == rows(content)
    assert here.join(there, here.columns).count() == content.count()
    assert north.count("unwrap") == south.count("unwrap") == keys()


@every_scan
def test_threads_with_different_clients_do_not_mix(
    spark: SparkSession, table: str, content: DataFrame, scan: str
) -> None:
    readers = [pme.PythonKms(Client(realm)).options() | {"scan": scan} for realm in ("north", "south")]
    expected = rows(content)

    def attempt(number: int) -> str:
        try:
            return "read" if rows(read(spark, table, readers[number % 2])) == expected else "misread"
        except pme.PmeError as error:
            return error.condition

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(attempt, range(8))) == ["read", "PME_KMS_UNAVAILABLE"] * 4


@every_scan
def test_a_second_session_has_the_client_in_options(
    spark: SparkSession, table: str, content: DataFrame, scan: str
) -> None:
    kms = pme.PythonKms(Client("north"))
    session = spark.newSession()
    assert rows(read(session, table, kms.options())) == rows(content)
    options = kms.options()
    [name] = set(options) - {"kms"}
    with refused("PME_KMS_UNAVAILABLE"):
        read(spark, table, options | {name: "python-0"})


ACTIVE = "V2 sources of Spark 3.5 get the active session, whichever they are read by"


@pytest.mark.parametrize("scan", ["v1", pytest.param("v2", marks=needs.spark((4, 0), ACTIVE))])
def test_a_second_session_has_the_client_in_settings(
    spark: SparkSession, table: str, content: DataFrame, scan: str
) -> None:
    session, options = spark.newSession(), pme.PythonKms(Client("north")).options()
    # Whatever the name of the option that distinguishes clients: it is one that a KMS class may read.
    session.conf.set("spark.datasource.pme-parquet.kms", options.pop("kms"))
    for name, value in options.items():
        session.conf.set(name, value)
    assert rows(session.read.format("pme-parquet").option("scan", scan).load(table)) == rows(content)


# In processes of their own: this one has a session.
OPTIONS = """
import os, sys
import pme_parquet as pme
try:
    print(pme.PythonKms(object()).options())
except pme.PmeError as error:
    print(type(error).__name__, error.condition, error)
sys.stdout.flush()
os._exit(0)  # a Connect session would look for its server at the end
"""
CONNECT = """
from pyspark.sql.connect.session import SparkSession
session = SparkSession("sc://127.0.0.1:1")
"""


def said(code: str, directory: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=directory, timeout=120
    )
    return done.stdout


@pytest.mark.rows(1)
@pytest.mark.parametrize(
    "before",
    [pytest.param("", id="no session"), pytest.param(CONNECT, id="connect", marks=needs.package("grpc"))],
)
def test_without_a_driver_in_the_process_there_is_a_clear_error(tmp_path: Path, before: str) -> None:
    text = said(before + OPTIONS, tmp_path)
    assert text.startswith("UnsupportedError PME_UNSUPPORTED [PME_UNSUPPORTED] ")
    assert "Spark Connect" in text
    assert "no Spark driver" in text
