"""Fixtures every Spark test shares: one session, one keystore, one default encryption.

A Spark session takes seconds to start, so there is one for the whole run. A test that changes a setting uses the
``conf`` fixture, which puts the old value back.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support import archive, ran, selection
from tests.support.session import (
    ALIASES,
    NEWEST,
    PASSWORD_VARIABLE,
    SPARK_VERSION,
    WITHOUT_UI,
    builder,
    created,
    kms_settings,
    session_settings,
    set_secrets,
    without_processes,
)
from tests.support.source import FORMAT, Pair, Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

os.environ["TZ"] = "UTC"
os.environ |= archive.VARIABLES
# The configuration file of whoever runs the tests is none of theirs.
os.environ["PME_PARQUET_CONFIG"] = ""


# scripts/test-side-by-side names the third process.
PROCESS = os.environ.get("PME_TEST_PROCESS", selection.NEWEST if SPARK_VERSION >= NEWEST else selection.OLDEST)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what `make test` leaves to another process or to `make test-all`. Named files and folders run whole."""
    here, are_named = os.environ.get("PME_TEST_HERE"), config.args != config.getini("testpaths")
    # The third process leaves files that are named to the first one of its Spark.
    if os.environ.get("PME_TEST_ALL") or (not here and are_named and PROCESS != selection.BESIDE):
        return
    kept = set() if are_named and not here else selection.chosen(items, None if here else PROCESS)
    if not here:
        ran.write_down(items, kept, PROCESS)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Do not import files that another process has found to have no test for this one."""
    return ran.has_none(collection_path, PROCESS) or None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the time of each folder's tests."""
    ran.add_seconds(report)


def pytest_sessionfinish() -> None:
    """Record the times for the table at the end of `make test`."""
    ran.write_seconds(PROCESS)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return the session that all tests share."""
    set_secrets()
    session = builder(session_settings(tmp_path_factory.mktemp("spark")) | WITHOUT_UI).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    without_processes(session)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> pme.Keystore:
    """Return a PKCS12 keystore with the master keys ``footer``, ``pii``, ``pay`` and ``other``."""
    set_secrets()
    path = tmp_path_factory.mktemp("keystore") / "keys.p12"
    return created(pme.Keystore(str(path), password=pme.env(PASSWORD_VARIABLE)), ALIASES)


@pytest.fixture(scope="session")
def enc(keys: pme.Keystore) -> pme.Encryption:
    """Return the default encryption: every column, and the footer, under ``footer``."""
    return pme.Encryption(kms=keys, footer_key="footer")


@pytest.fixture
def conf(spark: SparkSession) -> Conf:
    """Return a context manager that changes session settings and puts them back: ``with conf({...}):``."""

    @contextmanager
    def changed(settings: dict[str, str]) -> Iterator[None]:
        before = {name: spark.conf.get(name, None) for name in settings}
        for name, value in settings.items():
            spark.conf.set(name, value)
        try:
            yield
        finally:
            for name, old in before.items():
                if old is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, old)

    return changed


@pytest.fixture
def session_kms(keys: pme.Keystore, conf: Conf) -> Iterator[None]:
    """Let the session itself name the KMS, as it must for tables of the catalog."""
    with conf(kms_settings(keys)):
        yield


@pytest.fixture
def target(tmp_path: Path) -> str:
    """Return a path, as Spark takes it, with nothing there yet."""
    return str(tmp_path / "table")


@pytest.fixture
def ours(spark: SparkSession, enc: pme.Encryption, keys: pme.Keystore, tmp_path: Path) -> Iterator[Source]:
    """Return our source with the default keys; its table is dropped afterwards."""
    source = Source(spark, FORMAT, str(tmp_path / "ours"), enc.options(), keys.options())
    yield source
    spark.sql(f"DROP TABLE IF EXISTS {source.table}")


@pytest.fixture
def theirs(spark: SparkSession, tmp_path: Path) -> Iterator[Source]:
    """Return Spark's own parquet source."""
    source = Source(spark, "parquet", str(tmp_path / "theirs"))
    yield source
    spark.sql(f"DROP TABLE IF EXISTS {source.table}")


@pytest.fixture
def pair(ours: Source, theirs: Source) -> Pair:
    """Return both sources, to run the same job on."""
    return Pair(ours, theirs)
