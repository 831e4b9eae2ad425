"""Fixtures every Spark test shares: one session, one keystore, one default encryption.

A Spark session takes seconds to start, so there is one for the whole run. A test that changes a setting uses the
``conf`` fixture, which puts the old value back.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

import pme_parquet as pme
from tests.support.session import ALIASES, PASSWORD_VARIABLE, SPARK_VERSION, builder, session_settings, set_secrets
from tests.support.source import FORMAT, Pair, Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

os.environ["TZ"] = "UTC"

# Where tests are of many combinations: `make test-all` runs each, other runs one of so many, always the same. The first
# prefix that fits counts.
MATRICES = {
    "tests/pages/test_predicates": 26,
    "tests/pages/": 8,
    "tests/attacks/": 8,
    "tests/kms/": 8,
    "tests/leaks/test_heap_dumps": 5,
    "tests/rekey/": 8,
    "tests/rotation/": 8,
    "tests/verify/": 8,
}
# Where less depends on the Spark that runs them, or setting up takes minutes: sampled only where that is an old one.
OF_ANY_SPARK = {
    "tests/cli/": 3,
    "tests/docs/": 4,
    "tests/inspection/": 4,
    "tests/leaks/": 2,
    "tests/packaging/test_accp": 3,
    "tests/packaging/test_other_sparks": 3,
    "tests/packaging/test_packages": 3,
    "tests/plan/": 3,
    "tests/policy/": 3,
    "tests/python/": 4,
    "tests/report/": 3,
}
# A keystore derives keys from its password, which is slow on purpose; thousands of queries open this one.
QUICK = "-Dkeystore.pkcs12.keyPbeIterationCount=100 -Dkeystore.pkcs12.macIterationCount=100"
# On the Spark that is tested most, a test that is no combination is never left out.
NEWEST = (4, 2)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out most of the matrices unless all of them are asked for, by name or by environment."""
    if os.environ.get("PME_TEST_ALL") or any(name.startswith((*MATRICES, *OF_ANY_SPARK)) for name in config.args):
        return
    newest = SPARK_VERSION >= NEWEST
    samples = MATRICES if newest else MATRICES | OF_ANY_SPARK

    def is_left(item: pytest.Item) -> bool:
        single = newest and not hasattr(item, "callspec")
        number = next((number for prefix, number in samples.items() if item.nodeid.startswith(prefix)), 1)
        return not single and crc32(item.nodeid.encode()) % number > 0

    left = {item for item in items if is_left(item)}
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return the session that all tests share."""
    set_secrets()
    session = builder(session_settings(tmp_path_factory.mktemp("spark"))).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> pme.Keystore:
    """Return a PKCS12 keystore with the master keys ``footer``, ``pii``, ``pay`` and ``other``."""
    set_secrets()
    path = tmp_path_factory.mktemp("keystore") / "keys.p12"
    store = pme.Keystore(str(path), password=pme.env(PASSWORD_VARIABLE))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", QUICK)
        store.create(ALIASES)
    return store


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
def target(tmp_path: Path) -> str:
    """Return a path, as Spark takes it, where nothing is yet."""
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
