"""One store for all tests of this folder, and a place in it for each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.storage.place import InBucket
from tests.support.storage import s3
from tests.support.storage.s3 import ObjectStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

BUCKET, HASTY = "places", "hasty"
# What S3A retries and how long it waits: quickly, and not at all.
QUICK = {"retry.interval": "5ms", "retry.throttle.interval": "5ms"}
NEVER = {"retry.limit": "0", "retry.throttle.limit": "0", "attempts.maximum": "0"}
# Each read shows what it asks for: the default stream of Hadoop 3.5 keeps small objects in memory.
CLASSIC = {"input.stream.type": "classic"}


@pytest.fixture(scope="package")
def store(spark: SparkSession) -> Iterator[ObjectStore]:
    s3.load(spark)
    with ObjectStore() as made:
        settings: dict[str, str] = {}
        for bucket, more in ((BUCKET, QUICK | CLASSIC), (HASTY, QUICK | NEVER | CLASSIC)):
            settings |= made.make(bucket) | {f"fs.s3a.bucket.{bucket}.{name}": value for name, value in more.items()}
        with s3.configured(spark, settings):
            yield made


@pytest.fixture
def place(spark: SparkSession, store: ObjectStore, request: pytest.FixtureRequest) -> InBucket:
    return InBucket(spark, request.node.name.replace("[", "-").rstrip("]"), store, BUCKET)


@pytest.fixture
def hasty(place: InBucket) -> InBucket:
    """Return a place whose client asks only once."""
    return replace(place, bucket=HASTY)
