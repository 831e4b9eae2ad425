"""A plan compared with the files of the write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import types as t
from pyspark.sql.functions import lit

import pme_parquet as pme
from tests.support.canary import find_canaries
from tests.support.expect import save, untouched
from tests.support.frames import people

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

OF_FILES = {"column key": "column key", "footer key": "footer key", "uniform key": "footer key"}
Found = tuple[str, "str | None", "str | None"]


def planned(plan: pme.Plan) -> list[Found]:
    """Return path, kind of key and key of every leaf column, from a plan."""
    leaves = [column for column in plan.columns if column.by != "partition column"]
    return [(column.path, OF_FILES.get(column.by), column.key) for column in leaves]


def written(path: str) -> list[Found]:
    """Return the same from the first file, which has a readable footer."""
    file = pme.inspect(path).files[0]
    assert file.columns is not None
    return [
        (column.path, column.encrypted_with, column.key.master_key if column.key else None) for column in file.columns
    ]


NAMES = [
    "id",
    "ssn",
    "Mixed",
    "with space",
    "größe",
    "a.b",
    "tick`tick",
    "semi;colon",
    "st*r",
    "list",
    "element",
    "key",
]
LEAVES = [t.IntegerType(), t.StringType(), t.DecimalType(20, 2), t.TimestampType(), t.BinaryType(), t.DoubleType()]
DEEPEST = 3


def random_frame(spark: SparkSession, random: Random) -> DataFrame:
    """Return a row of nulls: every leaf column is in the file."""
    struct = _struct(random, 0)
    columns = [lit(None).cast(field.dataType).alias(field.name) for field in struct]
    return spark.range(0, 1, 1, 1).select(*columns)


def random_keys(random: Random, columns: tuple[pme.PlannedColumn, ...]) -> dict[str, list[str]]:
    """Return names of some columns, or of structures that contain them, in one of their possible spellings."""
    chosen = random.sample(columns, k=min(len(columns), random.randint(1, 4)))
    keys: dict[str, list[str]] = {}
    for column in chosen:
        keys.setdefault(random.choice(["pii", "pay"]), []).append(_spelled(random, column))
    return keys


def _spelled(random: Random, column: pme.PlannedColumn) -> str:
    top = column.name.split(".", maxsplit=1)[0] if "`" not in column.name else column.name
    plain = "`" not in column.name
    ways = [column.name, column.name, column.name.upper(), top]
    ways += [column.path, f"{top[:2]}*", f"{column.name}x"] if plain else []
    return random.choice(ways)


def _type(random: Random, depth: int) -> t.DataType:
    nested = random.random() < 0.5 and depth < DEEPEST
    if not nested:
        return random.choice(LEAVES)
    kind = random.choice(["struct", "array", "map"])
    if kind == "struct":
        return _struct(random, depth + 1)
    value = _type(random, depth + 1)
    return t.ArrayType(value) if kind == "array" else t.MapType(random.choice(LEAVES[:2]), value)


def _struct(random: Random, depth: int) -> t.StructType:
    names = random.sample(NAMES, k=random.randint(1, 5))
    return t.StructType([t.StructField(name, _type(random, depth)) for name in names])


@pytest.mark.parametrize("seed", range(8))
def test_each_leaf_column_gets_the_key_of_the_plan(
    spark: SparkSession, enc: pme.Encryption, tmp_path: Path, seed: int
) -> None:
    random = Random(seed)  # noqa: S311 the same in every run
    frame = random_frame(spark, random)
    readable = replace(enc, plaintext_footer=True)
    columns = pme.plan(frame, readable).columns
    for attempt in range(4):
        keys = random_keys(random, columns)
        unlisted = random.choice(["footerKey", "plaintext"])
        tried = replace(readable, column_keys=keys, unlisted_columns=unlisted)  # type: ignore[arg-type]
        plan, target = pme.plan(frame, tried), str(tmp_path / str(attempt))
        if plan.refusal:
            with pytest.raises(pme.PmeError) as refused:
                save(frame, target, tried.options())
            assert (refused.value.condition, refused.value.message) == (plan.refusal.condition, plan.refusal.message)
        else:
            save(frame, target, tried.options())
            assert planned(plan) == written(target), keys


def test_a_uniform_key_and_a_footer_key_alone(spark: SparkSession, keys: pme.Keystore, tmp_path: Path) -> None:
    frame = people(spark)
    for by, enc in {
        "uniform key": pme.Encryption(kms=keys, uniform_key="pay", plaintext_footer=True),
        "footer key": pme.Encryption(kms=keys, footer_key="pay", plaintext_footer=True),
    }.items():
        plan, target = enc.explain(frame), str(tmp_path / by)
        assert {(column.by, column.key, column.pattern) for column in plan.columns} == {(by, "pay", None)}
        save(frame, target, enc.options())
        assert planned(plan) == written(target)


def test_with_an_encrypted_footer_key_usage_shows_the_same(
    spark: SparkSession, keys: pme.Keystore, enc: pme.Encryption, target: str
) -> None:
    tried = replace(enc, column_keys={"pii": ["name", "address"], "pay": "s*"}, unlisted_columns="plaintext")
    plan = pme.plan(people(spark), tried)
    save(people(spark), target, tried.options())
    used = {row.master_key: set(row.columns) for row in pme.key_usage(spark, target, kms=keys).collect()}
    for key in ("pii", "pay"):
        assert {column.name for column in plan.columns if column.key == key} == used[key]
    assert [column.path for column in plan.plaintext] == ["id", "tags.list.element", "country"]


def test_columns_that_the_plan_calls_readable_are_readable(
    spark: SparkSession, enc: pme.Encryption, target: str
) -> None:
    tried = replace(enc, column_keys={"pii": ["name"]}, unlisted_columns="plaintext")
    frame = spark.sql("SELECT 'canary-name' AS name, 'canary-city' AS city, 'canary-day' AS day")
    plan = pme.plan(frame, tried, partition_by="day")
    assert [(column.path, column.by) for column in plan.plaintext] == [
        ("city", "plaintext"),
        ("day", "partition column"),
    ]
    frame.write.format("pme-parquet").options(**tried.options(), compression="none").partitionBy("day").save(target)
    found = find_canaries(target, ["canary-name", "canary-city"])
    assert {find.canary for find in found} == {"canary-city"}
    assert [path.name for path in Path(target).glob("day=*")] == ["day=canary-day"]


@pytest.mark.parametrize("partition_by", ["country", ["id", "COUNTRY"]])
def test_partition_columns_are_not_in_the_files(
    spark: SparkSession, enc: pme.Encryption, target: str, partition_by: str | list[str]
) -> None:
    names = [partition_by] if isinstance(partition_by, str) else partition_by
    tried = replace(enc, plaintext_footer=True, column_keys={"pii": ["name"]})
    frame = people(spark).limit(2)
    plan = pme.plan(frame, tried, partition_by=partition_by)
    frame.write.format("pme-parquet").options(**tried.options()).partitionBy(*names).save(target)
    assert planned(plan) == written(target)
    directory = next(Path(target).rglob("*.parquet")).relative_to(target).parent
    partitions = [column for column in plan.columns if column.by == "partition column"]
    assert [column.path for column in partitions] == [part.split("=")[0] for part in directory.parts]
    assert {column.key for column in partitions} == {None}


def test_no_job_runs_no_kms_is_called_and_nothing_is_written(
    spark: SparkSession, keys: pme.Keystore, tmp_path: Path
) -> None:
    frame = people(spark)
    # The keystore has no such keys, and a write would fail because of that.
    absent = pme.Encryption(kms=keys, footer_key="absent", column_keys={"absent too": ["ssn"]})
    tracker = spark.sparkContext.statusTracker()
    before = sorted(tracker.getJobIdsForGroup())
    warehouse = str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:")
    with untouched(Path(keys.path).parent), untouched(warehouse):
        plan = pme.plan(frame, absent)
    assert sorted(tracker.getJobIdsForGroup()) == before
    frame.count()
    assert sorted(tracker.getJobIdsForGroup()) != before
    assert plan.refusals == ()
    with pytest.raises(pme.KeyNotFoundError):
        save(frame, str(tmp_path / "table"), absent.options())


def test_settings_of_the_session_apply_as_in_a_write(
    spark: SparkSession, enc: pme.Encryption, conf: Conf, target: str
) -> None:
    prefix = "spark.datasource.pme-parquet."
    tried = replace(enc, column_keys={"pii": ["ssn"]})
    told = {f"{prefix}unlistedColumns": "plaintext", f"{prefix}plaintextFooter": "true"}
    with conf(told | {f"{prefix}algorithm": "AES_GCM_CTR_V1"}):
        plan = pme.plan(people(spark), tried)
        save(people(spark), target, tried.options())
    assert (plan.files.footer, plan.files.algorithm) == ("signed", "AES_GCM_CTR_V1")
    assert pme.inspect(target).files[0].algorithm == "AES_GCM_CTR_V1"
    assert planned(plan) == written(target)


def test_lists_as_older_sparks_wrote_them(spark: SparkSession, enc: pme.Encryption, conf: Conf, target: str) -> None:
    tried = replace(enc, plaintext_footer=True, column_keys={"pii": ["tags", "scores.value"]})
    with conf({"spark.sql.parquet.writeLegacyFormat": "true"}):
        plan = pme.plan(people(spark), tried)
        save(people(spark), target, tried.options())
    assert "tags.bag.array" in {column.path for column in plan.columns}
    assert planned(plan) == written(target)


def test_names_that_differ_in_case(spark: SparkSession, enc: pme.Encryption, conf: Conf, target: str) -> None:
    tried = replace(enc, plaintext_footer=True, column_keys={"pii": ["A"]})
    with conf({"spark.sql.caseSensitive": "true"}):
        frame = spark.sql("SELECT 'lower' AS a, 2 AS A")
        plan = pme.plan(frame, tried)
        save(frame, target, tried.options())
        assert planned(plan) == written(target)
        assert [(column.path, column.type, column.key) for column in plan.columns] == [
            ("a", "string", "footer"),
            ("A", "int", "pii"),
        ]
