"""No way to write leaves a protected value, name or comment readable in any byte of any file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.leaks.canaries import (
    COLUMN_KEYS,
    ENCODINGS,
    EVERYWHERE,
    OPEN,
    PROTECTED,
    ROWS,
    assert_only_the_open_column_is_readable,
    canaries,
)
from tests.leaks.ways import WAYS
from tests.support.canary import assert_no_canaries, find_canaries

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf, Source

pytestmark = pytest.mark.rows(2)

BY_COLUMN = {**EVERYWHERE, "columnKeys": COLUMN_KEYS, "unlistedColumns": "plaintext"}


def with_options(source: Source, **options: str) -> Source:
    return replace(source, write_options={**source.write_options, **options})


# Some ways write a table of the catalog, which cannot name a KMS that the session does not name.
@pytest.mark.usefixtures("session_kms")
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("way", WAYS)
def test_only_the_open_column_is_readable_after(
    spark: SparkSession, ours: Source, tmp_path: Path, way: str, encoding: str
) -> None:
    WAYS[way](with_options(ours, **BY_COLUMN, **ENCODINGS[encoding]), canaries(spark))
    assert_only_the_open_column_is_readable(tmp_path)
    assert ours.read().count() >= ROWS


@pytest.mark.parametrize("way", ["append", "partition_by", "bucket_by", "create_table_as_select", "stream_sink"])
def test_nothing_is_readable_under_one_key_after(spark: SparkSession, ours: Source, tmp_path: Path, way: str) -> None:
    WAYS[way](with_options(ours, **EVERYWHERE), canaries(spark))
    assert_no_canaries(tmp_path, [*PROTECTED, OPEN])


@pytest.mark.parametrize("way", ["append", "bucket_by", "insert_into", "stream_sink", "write_to_create"])
def test_keys_of_the_session_protect_as_well(
    spark: SparkSession, ours: Source, conf: Conf, tmp_path: Path, way: str
) -> None:
    settings = {**ours.write_options, "columnKeys": COLUMN_KEYS, "unlistedColumns": "plaintext"}
    bare = replace(ours, write_options=EVERYWHERE, read_options={})
    with conf({f"spark.datasource.pme-parquet.{name}": value for name, value in settings.items()}):
        WAYS[way](bare, canaries(spark))
    assert_only_the_open_column_is_readable(tmp_path)


def test_the_same_search_finds_everything_in_plaintext(spark: SparkSession, theirs: Source) -> None:
    theirs.write(canaries(spark), **EVERYWHERE)
    assert {find.canary for find in find_canaries(theirs.path, [*PROTECTED, OPEN])} == {*PROTECTED, OPEN}
