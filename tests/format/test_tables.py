"""Tables of the session catalog, in SQL, by the writer and by ``writeTo``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.canary import assert_encrypted_footers
from tests.support.frames import people

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Pair, Source

pytestmark = pytest.mark.usefixtures("session_kms")


@pytest.mark.oldest
def test_a_table_of_sql_has_partitions_and_later_columns(spark: SparkSession, pair: Pair) -> None:
    people(spark).select("id", "name", "country").createOrReplaceTempView("pme_people")

    def job(source: Source) -> DataFrame:
        spark.sql(
            f"CREATE TABLE {source.table} (id BIGINT, name STRING, country STRING) {source.clause()} "
            f"PARTITIONED BY (country) LOCATION '{source.path}'"
        )
        spark.sql(f"INSERT INTO {source.table} SELECT * FROM pme_people")
        spark.sql(f"INSERT OVERWRITE {source.table} PARTITION (country = 'it') VALUES (1000, 'only')")
        spark.sql(f"ALTER TABLE {source.table} ADD COLUMNS (extra INT)")
        spark.sql(f"INSERT INTO {source.table} PARTITION (country = 'de') VALUES (5, 'five', 55)")
        return spark.table(source.table)

    assert len(pair.same(job)) == 16
    assert_encrypted_footers(pair.ours.path)


@pytest.mark.newest
def test_the_writers_make_a_table_with_buckets_and_append_to_it(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        frame = people(spark)
        made = frame.writeTo(source.table).using(source.format).options(**source.write_options)
        made.partitionedBy(frame["country"]).create()
        spark.sql(f"DROP TABLE {source.table}")
        writer = source.writer(frame, path=source.path).bucketBy(3, "id").sortBy("id")
        writer.saveAsTable(source.table)
        people(spark, 20, 5).write.insertInto(source.table)
        return spark.table(source.table)

    assert len(pair.same(job)) == 25
    assert_encrypted_footers(pair.ours.path)
