"""Two keystores with the same key names in one session, and threads of Python that use one each.

``jvm/spark`` has the other ways to mix readers up, in ReaderKeysSuite.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.expect import refused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.isolation.conftest import Side


def rows(frame: DataFrame) -> list[tuple[int, str, float]]:
    return sorted((row["id"], row["ssn"], row["salary"]) for row in frame.collect())


def test_a_keystore_replaced_at_its_path_is_read_again(
    spark: SparkSession, left: Side, right: Side, tmp_path: Path
) -> None:
    moving = tmp_path / "keys.p12"
    store = pme.Keystore(str(moving), password=left.keys.password)
    for side, other in ((left, right), (right, left)):
        moving.write_bytes(Path(side.keys.path).read_bytes())
        reader = spark.read.format("pme-parquet").options(**store.options())
        assert rows(reader.load(side.path)) == side.rows
        with refused("PME_NOT_AUTHENTIC"):
            reader.load(other.path).collect()


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_threads_with_different_keystores_do_not_mix(
    spark: SparkSession, left: Side, right: Side, tmp_path: Path, scan: str
) -> None:
    def round_trip(number: int) -> bool:
        side = (left, right)[number % 2]
        path = str(tmp_path / f"{side.name}-{number}")
        side.read(spark).write.format("pme-parquet").options(**side.encryption().options()).save(path)
        reader = spark.read.format("pme-parquet").options(**side.keys.options(), scan=scan)
        return rows(reader.load(path)) == side.rows

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(round_trip, range(8)))
