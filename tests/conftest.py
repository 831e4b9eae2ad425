"""Fixtures every Spark test shares: one session, one keystore, one default encryption.

A Spark session takes seconds to start, so there is one for the whole run. A test that changes a setting uses the
``conf`` fixture, which puts the old value back.
"""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

import pme_parquet as pme
from tests.support.session import (
    ALIASES,
    PASSWORD_VARIABLE,
    SPARK_VERSION,
    builder,
    kms_settings,
    session_settings,
    set_secrets,
)
from tests.support.source import FORMAT, Pair, Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

os.environ["TZ"] = "UTC"

# `make test` runs the oldest and the newest Spark side by side, in limited time, and `make test-all` each test on each.
# A test runs on one of the two; of combinations one of so many, and others on the one than on the other. The first
# prefix that fits counts.
MATRICES = {
    "tests/pages/test_predicates": 26,
    "tests/attacks/": 16,
    "tests/format/": 3,
    "tests/interop/": 3,
    "tests/isolation/": 2,
    "tests/kms/": 16,
    "tests/leaks/test_heap_dumps": 5,
    "tests/leaks/": 3,
    "tests/pages/": 16,
    "tests/policy/": 2,
    "tests/rekey/test_equal": 2,
    "tests/rekey/": 16,
    "tests/rotation/": 16,
    "tests/verify/": 16,
}
# What depends little on the Spark that runs it: all of it on the newest, and on the oldest one of so many.
OF_ANY_SPARK = {
    "tests/cli/": 3,
    "tests/docs/": 4,
    "tests/inspection/": 4,
    "tests/plan/": 3,
    "tests/python/": 4,
    "tests/report/": 3,
}
# What starts Sparks of its own takes longest, and runs on one of the two.
ON_THE_OLDEST = (
    "tests/attacks/test_small_heap",
    "tests/doctor/test_cluster",
    "tests/kms/test_cluster",
    "tests/leaks/test_heap_dumps",
    "tests/packaging/test_accp",
)
ON_THE_NEWEST = (
    "tests/cli/test_processes",
    "tests/docs/test_cli_session",
    "tests/docs/test_examples",
    "tests/leaks/test_secrets",
    "tests/packaging/test_other_sparks",
    "tests/packaging/test_packages",
)
NEWEST = (4, 2)
# A keystore derives keys from its password, which is slow on purpose; thousands of queries open this one.
QUICK = "-Dkeystore.pkcs12.keyPbeIterationCount=100 -Dkeystore.pkcs12.macIterationCount=100"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what another Spark runs unless all is asked for, by name or by environment."""
    if os.environ.get("PME_TEST_ALL") or any(is_asked_for(name) for name in config.args):
        return
    newest = SPARK_VERSION >= NEWEST
    chosen = {item for item in items if runs_on(item, newest=newest)}
    combinations = defaultdict(list)
    for item in items:
        combinations[item.nodeid.partition("[")[0]].append(item)
    for alike in combinations.values():
        # One runs of each, on the oldest Spark, which has less to do, if it can.
        if newest == conditional(alike[0]) and not any(
            runs_on(one, newest=new) for one in alike for new in (True, False)
        ):
            chosen.add(min(alike, key=number))
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def runs_on(item: pytest.Item, *, newest: bool) -> bool:
    """Return whether a test is in the newest or the oldest Spark's sample."""
    if item.nodeid.startswith((*ON_THE_OLDEST, *ON_THE_NEWEST)):
        return item.nodeid.startswith(ON_THE_NEWEST if newest else ON_THE_OLDEST)
    every = one_of(OF_ANY_SPARK, item)
    if every:
        return newest or number(item) % every == 0
    # What the oldest Spark lacks is not given to it alone.
    every = (one_of(MATRICES, item) or 1) if hasattr(item, "callspec") else 1 if conditional(item) else 2
    return number(item) % every == (0 if newest else every // 2)


def conditional(item: pytest.Item) -> bool:
    return any(item.iter_markers("skipif"))


def number(item: pytest.Item) -> int:
    return crc32(item.nodeid.encode())


def is_asked_for(name: str) -> bool:
    """Return whether an argument names tests more closely than by a directory of all of them."""
    return ".py" in name or name.startswith((*MATRICES, *OF_ANY_SPARK))


def one_of(samples: dict[str, int], item: pytest.Item) -> int | None:
    return next((every for prefix, every in samples.items() if item.nodeid.startswith(prefix)), None)


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
def session_kms(keys: pme.Keystore, conf: Conf) -> Iterator[None]:
    """Have the session itself name the KMS, as it must for tables of the catalog."""
    with conf(kms_settings(keys)):
        yield


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
