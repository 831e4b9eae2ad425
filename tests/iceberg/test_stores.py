"""Tables of a real Iceberg in HDFS and S3, encrypted with our keys: who reads them, and what is readable there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.iceberg import iceberg_job, stores_job
from tests.support import needs
from tests.support.processes import result_of
from tests.support.session import SPARK_VERSION
from tests.support.storage import hdfs, s3

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

VERSIONS = iceberg_job.VERSIONS.get(SPARK_VERSION, [])[:1]
pytestmark = [pytest.mark.slow, needs.iceberg, needs.test_all, pytest.mark.all_rows, pytest.mark.oldest]
only_s3a = needs.sparks({(4, 1)}, "there is no S3A here for this Spark")
PATIENCE = 600
FIRST = {at: at * 1.5 for at in range(10)}
ROWS = {at: salary for at, salary in FIRST.items() if at not in {1, 7}} | {8: 0.0, 99: 1.0, 100: 2.0, 200: 3.0}


@pytest.fixture(scope="module", params=["hdfs", pytest.param("s3", marks=only_s3a)])
def result(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[stores_job.Result]:
    """Return what came of the job."""
    store, work = tmp_path_factory.mktemp("store"), tmp_path_factory.mktemp("iceberg")
    with hdfs.lake(spark, store) if request.param == "hdfs" else s3.lake(s3.OF_SPARK_4_1) as lake:
        yield result_of(stores_job, stores_job.Result, str(work), lake.text, *VERSIONS, patience=PATIENCE)


def listed(rows: dict[int, float]) -> list[str]:
    return sorted(repr((at, f"ssn-{at}", salary)) for at, salary in rows.items())


def test_a_table_is_written_changed_compacted_and_read(result: stores_job.Result) -> None:
    done = result.done
    assert done["rows"].rows == done["compacted"].rows == listed(ROWS)
    assert done["files"].rows == ["(1,)"]
    assert done["first"].rows == listed(FIRST)


def test_a_catalog_without_the_key_does_not_read_it(result: stores_job.Result) -> None:
    assert result.done["stranger"].condition == "PME_NOT_AUTHENTIC"


def test_nothing_of_it_is_readable_in_the_store(result: stores_job.Result) -> None:
    assert result.looked["people"].readable == []
    assert {begin.split()[-1] for begin in result.looked["people"].files} == {"b'PARE'", "b'AGS1'", "b'{\"fo'"}
    assert result.checked["people"] == stores_job.Checked(iceberg_job.KEY, [])
    # The search finds what is readable, and so does the check.
    assert result.looked["ignored"].readable
    assert {"ignored key", "plaintext file"} <= set(result.checked["ignored"].kinds)
