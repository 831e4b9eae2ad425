"""Every codec that Spark offers for Parquet. Those whose library Spark does not contain fail as they do in Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.canary import assert_encrypted_footers, data_files, files_under
from tests.support.frames import people

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Pair, Source

pytestmark = pytest.mark.rows(2)


def suffixes(source: Source) -> set[str]:
    return {"".join(path.suffixes) for path in data_files(source.path)}


@pytest.mark.parametrize("codec", ["none", "uncompressed", "snappy", "gzip", "zstd", "lz4", "lz4_raw"])
def test_codec_reads_back(spark: SparkSession, pair: Pair, codec: str) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark), compression=codec)
        return source.read()

    assert len(pair.same(job)) == 20
    assert suffixes(pair.ours) == suffixes(pair.theirs)
    assert_encrypted_footers(pair.ours.path)


def test_codec_of_the_session_is_used(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark))
        return source.read()

    with conf({"spark.sql.parquet.compression.codec": "gzip"}):
        pair.same(job)
    assert suffixes(pair.ours) == {".gz.parquet"}


@pytest.mark.parametrize("codec", ["lzo", "brotli"])
def test_codec_without_a_library_fails_as_it_does_for_spark(spark: SparkSession, pair: Pair, codec: str) -> None:
    """PySpark brings no implementation of LZO (GPL) and none of Brotli (native, of a third party).

    One task writes: with two, Spark may delete ``_temporary`` before the second task creates its file there.
    """
    for source in (pair.theirs, pair.ours):
        with pytest.raises(Exception, match=r"(?i)lzo|brotli"):
            source.write(people(spark).coalesce(1), compression=codec)
        left = (
            [path for path in files_under(source.path) if path.suffix == ".parquet"]
            if Path(source.path).exists()
            else []
        )
        assert left == []


def test_an_unknown_codec_is_refused_as_by_spark(spark: SparkSession, pair: Pair) -> None:
    for source in (pair.theirs, pair.ours):
        with pytest.raises(Exception, match="quick"):
            source.write(people(spark), compression="quick")
