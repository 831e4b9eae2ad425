"""Sessions of one application share cached data and plans. Each still sees only what its own settings open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.cached import filled, having, is_cached
from tests.support.expect import refused

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.isolation.conftest import Shared

ALL = ("footer", "pii", "pay")
FEW = ("footer", "pay")
SCHEMA = "id bigint, ssn string, salary double"
PREFIX = "spark.datasource.pme-parquet."


def session(spark: SparkSession, options: Mapping[str, str]) -> SparkSession:
    """Return another session of the application with these options of ours."""
    return having(spark, {PREFIX + name: value for name, value in options.items()})


def read(of: SparkSession, path: str, schema: str = "", name: str = "pme-parquet") -> DataFrame:
    reader = of.read.format(name)
    return (reader.schema(schema) if schema else reader).load(path)


@pytest.mark.parametrize("schema", [SCHEMA, ""], ids=["given", "found"])
def test_data_that_one_session_caches_does_not_answer_one_with_other_keys(
    spark: SparkSession, shared: Shared, schema: str
) -> None:
    full, few = session(spark, shared.options(ALL)), session(spark, shared.options(FEW))
    with filled(read(full, shared.path, schema)):
        with refused("PME_KEY_NOT_FOUND", "'pii'", "ssn"):
            read(few, shared.path, schema).select("ssn").collect()
        # Another session with the same settings may have the data.
        same = session(spark, shared.options(ALL))
        assert is_cached(read(same, shared.path)) or schema


def test_rows_that_one_session_accepts_are_refused_by_the_policy_of_another(
    spark: SparkSession, shared: Shared, tmp_path: Path
) -> None:
    path = str(tmp_path / "plain")
    spark.range(5).write.parquet(path)
    lax = session(spark, shared.options(ALL) | {"plaintextFiles": "allow"})
    strict = session(spark, shared.options(ALL))
    with filled(read(lax, path, "id bigint")):
        with refused("PME_PLAINTEXT_FILE"):
            read(strict, path, "id bigint").collect()
        # The same session, after it has changed its mind.
        lax.conf.set(f"{PREFIX}plaintextFiles", "error")
        with refused("PME_PLAINTEXT_FILE"):
            read(lax, path, "id bigint").collect()


def test_data_that_was_cached_under_settings_of_later_is_known_by_those(
    spark: SparkSession, shared: Shared, tmp_path: Path
) -> None:
    path = str(tmp_path / "plain")
    spark.range(5).write.parquet(path)
    changing = session(spark, shared.options(ALL))
    planned = read(changing, path, "id bigint")
    changing.conf.set(f"{PREFIX}plaintextFiles", "allow")
    with filled(planned), refused("PME_PLAINTEXT_FILE"):
        read(session(spark, shared.options(ALL)), path, "id bigint").collect()


def test_a_table_of_the_catalog_is_read_again_after_its_session_has_changed(
    spark: SparkSession, shared: Shared
) -> None:
    changing = session(spark, shared.options(ALL))
    changing.sql(f"CREATE TABLE of_sessions ({SCHEMA}) USING `pme-parquet` LOCATION '{shared.path}'")
    try:
        with filled(changing.table("of_sessions")):
            for name, value in shared.options(FEW).items():
                changing.conf.set(PREFIX + name, value)
            with refused("PME_KEY_NOT_FOUND", "'pii'", "ssn"):
                changing.table("of_sessions").select("ssn").collect()
            with refused("PME_KEY_NOT_FOUND", "'pii'", "ssn"):
                session(spark, shared.options(FEW)).table("of_sessions").select("ssn").collect()
    finally:
        changing.sql("DROP TABLE of_sessions")


def test_frames_of_two_sessions_in_one_query_are_read_each_for_itself(spark: SparkSession, shared: Shared) -> None:
    full, few = session(spark, shared.options(ALL)), session(spark, shared.options(FEW))
    left, right = (read(one, shared.path, SCHEMA).groupBy("ssn").count() for one in (full, few))
    with refused("PME_KEY_NOT_FOUND", "'pii'"):
        left.join(right, "ssn").collect()


def test_cached_orc_does_not_answer_a_session_with_other_keys(
    spark: SparkSession, shared: Shared, tmp_path: Path
) -> None:
    path = str(tmp_path / "orc")
    options = shared.options(ALL)
    rows = spark.createDataFrame([(1, "a", 0.5)], SCHEMA)
    rows.write.format("pme-orc").options(**options, columnKeys="pii: ssn; pay: salary").save(path)
    full, few = session(spark, options), session(spark, shared.options(FEW))
    with (
        filled(read(full, path, SCHEMA, name="pme-orc")),
        refused("PME_KEY_DENIED", "pii", "ssn"),
    ):
        read(few, path, SCHEMA, name="pme-orc").select("ssn").collect()


def test_parquet_that_the_crypto_factory_opened_does_not_answer_a_session_without_it(
    spark: SparkSession, shared: Shared
) -> None:
    full = session(spark, {})
    full.conf.set("parquet.crypto.factory.class", "io.pmeparquet.parquet.PmeCryptoFactory")
    for name, value in shared.options(ALL).items():
        full.conf.set(f"pme-parquet.{name}", value)
    with filled(full.read.schema(SCHEMA).parquet(shared.path)):
        other = spark.newSession().read.schema(SCHEMA).parquet(shared.path)
        assert not is_cached(other)
        assert is_cached(full.read.schema(SCHEMA).parquet(shared.path))
