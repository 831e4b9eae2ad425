"""Each operation on Azure Data Lake Storage Gen2, through Hadoop's ABFS."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import pytest

import pme_parquet as pme
from tests.storage.clouds.azure import ACCOUNT, CONTAINER, Azure
from tests.storage.clouds.place import InCloud, reached
from tests.storage.clouds.sealing import (
    test_a_copy_whose_store_stops_appears_whole_or_no_reader_takes_it,
    test_a_failure_that_passes,
    test_a_read_that_meets_a_fault_returns_all_or_fails,
    test_a_seal_wins_once,
    test_a_store_that_stops,
    test_a_table_is_sealed,
)
from tests.storage.operations import test_a_migration_of_orc, test_copies, test_streams, test_writes_and_reads
from tests.storage.place import ENC, READING
from tests.storage.races import test_the_first_finished_of_two_copies_to_one_target_wins
from tests.support import needs
from tests.support.expect import refused
from tests.support.frames import people, people_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = [needs.s3a, needs.test_all, pytest.mark.all_rows]


@pytest.fixture(scope="module")
def store(spark: SparkSession) -> Iterator[Azure]:
    with Azure() as made, reached(spark, made):
        yield made


@pytest.fixture
def place(spark: SparkSession, store: Azure, request: pytest.FixtureRequest) -> InCloud:
    return InCloud(spark, re.sub(r"\W+", "-", request.node.name).strip("-"), store, ROOT)


ROOT = f"abfs://{CONTAINER}@{ACCOUNT}"


@pytest.fixture
def operation() -> str:
    return "append"


@pytest.mark.parametrize("key_material", ["internal", "external"])
def test_a_rotation_is_refused(
    spark: SparkSession, place: InCloud, key_material: Literal["internal", "external"]
) -> None:
    place.write(people(spark))
    before = place.content()
    with refused("PME_UNSUPPORTED", "replacing a file on 'abfs'"):
        pme.rotate(
            spark,
            place.path,
            options=READING,
            master_keys={"footer": "f"},
            allow_unused=True,
            key_material=key_material,
        )
    assert place.content() == before
    assert place.rows() == people_rows(spark)


def test_an_encryption_in_place_is_refused(spark: SparkSession, place: InCloud) -> None:
    people(spark).write.parquet(place.path)
    before = place.content()
    with refused("PME_UNSUPPORTED", "replacing a file on 'abfs'"):
        pme.encrypt(spark, place.path, enc=ENC, in_place=True)
    assert place.content() == before
