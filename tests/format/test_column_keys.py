"""Which columns ``columnKeys`` covers, seen from outside.

Columns that no pattern names are left readable here (``unlistedColumns=plaintext``), so a canary that is found shows
that its column was not covered, and one that is not found shows that it was.
"""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.canary import find_canaries
from tests.support.source import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Source

pytestmark = pytest.mark.rows(2)

PLAIN = {"unlistedColumns": "plaintext", "compression": "uncompressed"}
LEAVES = {
    "name": "canary-name",
    "addr.street": "canary-street",
    "addr.geo.lat": "canary-latitude",
    "tags": "canary-tag",
    "people.first": "canary-first",
    "people.last": "canary-last",
    "attr.key": "canary-mapkey",
    "attr.value": "canary-mapvalue",
    "Mixed": "canary-mixed",
}


def frame(spark: SparkSession) -> DataFrame:
    return spark.range(0, 3, 1, 1).selectExpr(
        "id",
        "concat('canary-name-', id) AS name",
        "named_struct('street', concat('canary-street-', id),"
        " 'geo', named_struct('lat', concat('canary-latitude-', id))) AS addr",
        "array(concat('canary-tag-', id)) AS tags",
        "array(named_struct('first', concat('canary-first-', id), 'last', concat('canary-last-', id))) AS people",
        "map(concat('canary-mapkey-', id), concat('canary-mapvalue-', id)) AS attr",
        "concat('canary-mixed-', id) AS Mixed",
    )


def covered(source: Source, column_keys: str) -> set[str]:
    """Write with these column keys and return the leaves whose values cannot be found in the bytes."""
    source.write(frame(source.spark), **PLAIN, columnKeys=column_keys)
    assert rows(source.read()) == rows(frame(source.spark))
    found = {find.canary for find in find_canaries(source.path, LEAVES.values())}
    return {leaf for leaf, canary in LEAVES.items() if canary not in found}


ADDRESS = {"addr.street", "addr.geo.lat"}
PEOPLE = {"people.first", "people.last"}
ATTRIBUTES = {"attr.key", "attr.value"}


@pytest.mark.parametrize(
    ("column_keys", "expected"),
    [
        ("pii: name", {"name"}),
        ("pii: name, tags; pay: Mixed", {"name", "tags", "Mixed"}),
        ("pii: addr", ADDRESS),
        ("pii: addr.street", {"addr.street"}),
        ("pii: addr.geo", {"addr.geo.lat"}),
        ("pii: addr.*", ADDRESS),
        ("pii: addr.s*", {"addr.street"}),
        ("pii: *ame", {"name"}),
        ("pii: *", set(LEAVES)),
        ("pii: tags", {"tags"}),
        ("pii: tags.element", {"tags"}),
        ("pii: tags.list.element", {"tags"}),
        ("pii: people", PEOPLE),
        ("pii: people.element.first", {"people.first"}),
        ("pii: people.list.element.last", {"people.last"}),
        ("pii: attr", ATTRIBUTES),
        ("pii: attr.key", {"attr.key"}),
        ("pii: attr.value", {"attr.value"}),
        ("pii: attr.key_value.value", {"attr.value"}),
        ("pii: `name`", {"name"}),
        ('{"pii": ["name", "addr.street"], "pay": ["tags"]}', {"name", "addr.street", "tags"}),
        ("pii: MIXED", {"Mixed"}),
        ("pii: ADDR.Street", {"addr.street"}),
    ],
)
def test_column_keys_cover(ours: Source, column_keys: str, expected: set[str]) -> None:
    assert covered(ours, column_keys) == expected


def test_without_column_keys_nothing_is_left_readable(ours: Source, spark: SparkSession) -> None:
    ours.write(frame(spark), compression="uncompressed")
    assert find_canaries(ours.path, LEAVES.values()) == []


def test_case_matters_if_the_session_is_case_sensitive(ours: Source, conf: Conf) -> None:
    with conf({"spark.sql.caseSensitive": "true"}):
        with pytest.raises(pme.PmeError, match="Mixed") as caught:
            covered(ours, "pii: MIXED")
        assert caught.value.condition == "PME_UNKNOWN_COLUMN"
        assert covered(ours, "pii: Mixed") == {"Mixed"}


def test_names_that_differ_in_case_get_their_own_keys(spark: SparkSession, ours: Source, conf: Conf) -> None:
    with conf({"spark.sql.caseSensitive": "true"}):
        ours.write(spark.sql("SELECT 'canary-lower' AS a, 'canary-upper' AS A"), **PLAIN, columnKeys="pii: A")
    assert [find.canary for find in find_canaries(ours.path, ["canary-lower", "canary-upper"])] == ["canary-lower"]


@pytest.mark.parametrize(
    "name", ["a.b", "with space", "größe", "colon:colon", "semi;colon", "comma,comma", "tick`tick"]
)
def test_odd_names_are_covered_by_json(spark: SparkSession, ours: Source, name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    data = spark.sql(f"SELECT 'canary-odd' AS {quoted}, 'canary-plain' AS other")
    ours.write(data, **PLAIN, columnKeys=json.dumps({"pii": [quoted]}))
    assert {find.canary for find in find_canaries(ours.path, ["canary-odd", "canary-plain"])} == {"canary-plain"}
    assert rows(ours.read()) == rows(data)


def test_a_dot_in_a_name_is_not_a_nested_field(spark: SparkSession, ours: Source) -> None:
    data = spark.sql("SELECT 'canary-dotted' AS `a.b`, named_struct('b', 'canary-nested') AS a")
    ours.write(data, **PLAIN, columnKeys="pii: a.b")
    assert [find.canary for find in find_canaries(ours.path, ["canary-dotted", "canary-nested"])] == ["canary-dotted"]


def static(tmp_path: Path, **named: bytes) -> pme.Static:
    """Return keys listed in a file, as a reader would get them."""
    path = tmp_path / f"{'-'.join(named)}.keys"
    path.write_text("".join(f"{name}={b64encode(key).decode()}\n" for name, key in named.items()))
    return pme.Static(pme.file(str(path)))


def test_a_reader_without_one_key_reads_the_other_columns(spark: SparkSession, ours: Source, tmp_path: Path) -> None:
    all_keys = static(tmp_path, footer=bytes(range(16)), pii=bytes(range(16, 32)), pay=bytes(range(32, 48)))
    fewer = static(tmp_path, footer=bytes(range(16)), pii=bytes(range(16, 32)))
    enc = pme.Encryption(kms=all_keys, footer_key="footer", column_keys={"pii": ["name"], "pay": ["addr"]})
    frame(spark).write.format(ours.format).options(**enc.options()).save(ours.path)

    limited = spark.read.format(ours.format).options(**fewer.options()).load(ours.path)
    assert rows(limited.select("id", "name", "tags")) == rows(frame(spark).select("id", "name", "tags"))
    with pytest.raises(pme.PmeError, match="addr") as caught:
        limited.select("addr.street").collect()
    assert caught.value.condition == "PME_KEY_NOT_FOUND"
