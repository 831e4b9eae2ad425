"""Which columns ``columnKeys`` covers, seen from outside: in the bytes of the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.canary import find_canaries
from tests.support.expect import refused
from tests.support.session import TEST_KMS
from tests.support.source import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

# Columns that no pattern names stay readable: a canary that is found shows that its column was not covered.
KEYS = {"pii": ["name", "addr.geo", "people.element.first", "`a.b`"], "pay": ["attr.value", "tags", "MIXED"]}
LEAVES = ["name", "street", "latitude", "tag", "first", "last", "mapkey", "mapvalue", "mixed", "dotted"]
COVERED = {"name", "latitude", "tag", "first", "mapvalue", "mixed", "dotted"}


@pytest.mark.newest
def test_columns_of_every_shape_are_covered_or_readable(spark: SparkSession, conf: Conf, tmp_path: Path) -> None:
    canary = {leaf: f"canary-{leaf}" for leaf in LEAVES}
    frame = spark.range(0, 3, 1, 1).selectExpr(
        "id",
        "concat('canary-name-', id) AS name",
        "named_struct('street', concat('canary-street-', id),"
        " 'geo', named_struct('lat', concat('canary-latitude-', id))) AS addr",
        "array(concat('canary-tag-', id)) AS tags",
        "array(named_struct('first', concat('canary-first-', id), 'last', concat('canary-last-', id))) AS people",
        "map(concat('canary-mapkey-', id), concat('canary-mapvalue-', id)) AS attr",
        "concat('canary-mixed-', id) AS Mixed",
        "concat('canary-dotted-', id) AS `a.b`",
    )
    enc = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys=KEYS, unlisted_columns="plaintext")
    table = str(tmp_path / "table")
    frame.write.format("pme-parquet").options(**enc.options(), compression="uncompressed").save(table)
    assert {find.canary for find in find_canaries(table, canary.values())} == {
        canary[leaf] for leaf in set(LEAVES) - COVERED
    }
    assert rows(pme.read(spark, table, TEST_KMS)) == rows(frame)
    with conf({"spark.sql.caseSensitive": "true"}), refused("PME_UNKNOWN_COLUMN", "Mixed"):
        pme.write(frame, tmp_path / "other", enc)
