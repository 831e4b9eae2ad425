"""Files to attack, written once, and a probe for each reader."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.attacks.probe import READERS, THREADS, Probe
from tests.support.files.anatomy import Anatomy
from tests.support.files.writers import KINDS, Kind, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    FileOf = Callable[[Kind], Anatomy]


@pytest.fixture(scope="session")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(THREADS) as threads:
        yield threads


@pytest.fixture(scope="session", params=READERS)
def probe(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    pool: ThreadPoolExecutor,
) -> Probe:
    """Return a probe for each reader."""
    return Probe(spark, request.param, tmp_path_factory.mktemp(f"bent-{request.param}"), pool)


def kept(spark: SparkSession, directory: Path, version: int) -> FileOf:
    """Return a function that writes a file on its first use."""
    files: dict[Kind, Anatomy] = {}

    def file_of(kind: Kind) -> Anatomy:
        if kind not in files:
            files[kind] = Anatomy(written(spark, kind, directory / str(kind), version))
        return files[kind]

    return file_of


@pytest.fixture(scope="session")
def file_of(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> FileOf:
    return kept(spark, tmp_path_factory.mktemp("originals"), version=1)


@pytest.fixture(scope="session")
def older_file_of(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> FileOf:
    """Return files with the same layout and other values in ``salary`` and ``twin``."""
    return kept(spark, tmp_path_factory.mktemp("older"), version=2)


every_kind = pytest.mark.parametrize("kind", KINDS, ids=str)
