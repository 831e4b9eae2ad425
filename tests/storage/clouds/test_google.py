"""Each operation on Google Cloud Storage, through Google's connector."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.storage.clouds.google import Google
from tests.storage.clouds.place import InCloud, reached
from tests.storage.clouds.sealing import (
    test_a_copy_whose_store_stops_appears_whole_or_no_reader_takes_it,
    test_a_failure_that_passes,
    test_a_read_that_meets_a_fault_returns_all_or_fails,
    test_a_seal_wins_once,
    test_a_store_that_stops,
    test_a_table_is_sealed,
)
from tests.storage.operations import (
    test_a_migration_of_orc,
    test_copies,
    test_in_place,
    test_rotations,
    test_streams,
    test_writes_and_reads,
)
from tests.storage.races import (
    test_a_rotation_refuses_to_run_next_to_one_that_does_something_else,
    test_readers_meanwhile_see_the_rows_or_fail_cleanly,
    test_the_first_finished_of_two_copies_to_one_target_wins,
    test_two_that_do_the_same_at_once_lose_nothing,
)
from tests.support import needs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = [needs.s3a, needs.test_all, pytest.mark.all_rows]


@pytest.fixture(scope="module")
def store(spark: SparkSession) -> Iterator[Google]:
    with Google() as made, reached(spark, made):
        yield made


@pytest.fixture
def place(spark: SparkSession, store: Google, request: pytest.FixtureRequest) -> InCloud:
    return InCloud(spark, re.sub(r"\W+", "-", request.node.name).strip("-"), store, ROOT)


ROOT = "gs://places"
# Each is a change that the store makes in one step.
STOPPED = ("append", "rotate", "to external", "in place")


@pytest.fixture(params=STOPPED)
def operation(request: pytest.FixtureRequest) -> str:
    return str(request.param)
