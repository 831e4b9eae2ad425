"""`pme.migrate_orc`: equal cells, nothing without every key, and what is refused by name."""

from __future__ import annotations

import base64
import json
import os
import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.orc.migrating import COLUMN_KEYS, RAW, Keys, data_of_first_stripe, empty_file, use_memory_provider, write
from tests.support.canary import data_files, files_under, find_canaries
from tests.support.commands import run
from tests.support.frames import INTERVALS, SIMPLE, people
from tests.support.source import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

SECRETS = ["name-", "ssn-", "street-", "tag-"]


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(tmp_path_factory.mktemp("lists"))


@pytest.fixture(scope="module")
def source(spark: SparkSession, lists: Keys, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an encrypted table with partitions, two files in each, and Bloom filters of a plain column."""
    path = tmp_path_factory.mktemp("migrate") / "source"
    bloom = {"orc.bloom.filter.columns": "id"}
    return write(people(spark).repartition(2), path, lists, COLUMN_KEYS, "country", **bloom)


def left(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir() if not path.name.endswith(".crc")}


def test_every_type_has_equal_cells_in_partitions_and_stays_under_its_key(
    spark: SparkSession, lists: Keys, tmp_path: Path
) -> None:
    use_memory_provider(spark)
    kinds = {name: sql for name, sql in (SIMPLE | INTERVALS).items() if name != "all_null"}
    frame = spark.range(0, 40, 1, 2).selectExpr(*[f"{sql} AS `{name}`" for name, sql in kinds.items()], "id % 3 AS day")
    frame = frame.selectExpr(
        "*",
        "CAST(day / 3 AS DECIMAL(38, 18)) AS wide",
        "TIMESTAMP'0001-01-02 03:04:05' AS old",
    )
    first, second = "string,timestamp,struct,deep", "map,double,old"
    path = tmp_path / "source"
    orc = {
        "orc.key.provider": "memory",
        "orc.encrypt": f"mig_pii:{first};mig_pay:{second}",
        "orc.stripe.size": "1",
    }
    frame.write.format("orc").options(**orc).partitionBy("day").save(str(path))
    expected = spark.read.format("orc").option("orc.key.provider", "memory").load(str(path))
    done = pme.migrate_orc(spark, path, tmp_path / "target", lists.enc)
    assert (done.rows, done.already, done.sealed) == (40, 0, None)
    strict = {
        "columnKeys": f"mig_pii: {first}; mig_pay: {second}",
        "footerKey": "footer",
    }
    got = spark.read.format("pme-parquet").options(**lists.full, **strict).load(str(tmp_path / "target"))
    assert got.schema == expected.schema
    # Python has no values of some intervals, nor years beyond 9999.
    as_text = {*INTERVALS, "date", "old"}
    shown = [f"CAST(`{name}` AS STRING)" if name in as_text else f"`{name}`" for name in expected.columns]
    assert rows(got.selectExpr(*shown)) == rows(expected.selectExpr(*shown))
    # ORC cannot tell the last second of 1969 from the first one of 1970.
    kept = [name for name in shown if name != "`timestamp`"]
    assert rows(got.selectExpr(*kept)) == rows(frame.selectExpr(*kept))
    assert {file.parent.name for file in data_files(tmp_path / "target")} == {
        "day=0",
        "day=1",
        "day=2",
    }
    assert left(tmp_path) == {"source", "target"}


def test_files_of_the_source_must_have_the_keys_that_the_read_requires(
    spark: SparkSession, lists: Keys, source: Path, tmp_path: Path
) -> None:
    found = []
    for required in (COLUMN_KEYS, COLUMN_KEYS.replace("mig_pay", "mig_pii")):
        options = {"columnKeys": required}
        plan = pme.migrate_orc(spark, source, tmp_path / "target", lists.enc, options=options, dry_run=True)
        found.append({refusal.condition for refusal in plan.refusals})
    assert found == [set(), {"PME_KEY_METADATA"}]


def test_the_plan_says_what_a_migration_then_does(
    spark: SparkSession, lists: Keys, source: Path, tmp_path: Path
) -> None:
    plan = pme.migrate_orc(spark, source, tmp_path / "target", lists.enc, dry_run=True)
    assert left(tmp_path) == set()
    assert (plan.files, plan.rows, plan.refusals, set(plan.bloom_filters)) == (
        6,
        20,
        (),
        {"id"},
    )
    keys = {
        "name": "mig_pii",
        "ssn": "mig_pii",
        "salary": "mig_pay",
        "address.street": "mig_pii",
        "tags.element": "mig_pii",
    }
    assert {one.column: one.keys for one in plan.encrypted} == {name: (f"{key}@0",) for name, key in keys.items()}
    assert plan.write is not None
    assert keys.items() <= {one.name: one.key for one in plan.write.columns}.items()
    assert "column ssn: in the source under mig_pii@0" in str(plan)
    done = pme.migrate_orc(spark, source, tmp_path / "target", lists.enc, seal=True)
    assert done.sealed is not None
    assert (done.files, done.rows, done.sealed.files) == (
        plan.files,
        plan.rows,
        plan.files,
    )
    options = [value for name, text in lists.full.items() for value in ("-o", f"{name}={text}")]
    plain = run(
        "migrate-orc",
        source,
        tmp_path / "two",
        "--footer-key",
        "footer",
        *options,
        "--dry-run",
        "--json",
    )
    assert (plain.code, plain.document["rows"], (tmp_path / "two").exists()) == (
        0,
        20,
        False,
    )
    lacking = [value for name, text in lists.without_pii.items() for value in ("-o", f"{name}={text}")]
    assert run("migrate-orc", source, tmp_path / "two", "--footer-key", "footer", *lacking, "--dry-run").code == 3
    moved = run(
        "migrate-orc",
        source,
        tmp_path / "two",
        "--footer-key",
        "footer",
        *options,
        "--json",
    )
    assert (moved.code, moved.document["files"], moved.document["sealed"]) == (
        0,
        6,
        None,
    )
    reader = spark.read.format("pme-parquet").options(**lists.full)
    assert rows(reader.load(str(tmp_path / "two"))) == rows(reader.load(str(tmp_path / "target")))
    with pytest.raises(pme.BadOptionError, match="there is nothing"):
        pme.migrate_orc(spark, "no-such-table", tmp_path / "three", lists.enc)
    assert find_canaries(tmp_path, SECRETS) == []
    small = [file.stat().st_size for file in data_files(tmp_path)]
    assert max(small) < 100_000, "a Bloom filter is as large as it may be"


@pytest.mark.parametrize("lacks", ["without_pii", "wrong_pii", "masks", "null", "session", "open"])
def test_nothing_is_written_unless_every_column_opens(
    spark: SparkSession,
    lists: Keys,
    source: Path,
    tmp_path: Path,
    conf: Conf,
    lacks: str,
) -> None:
    kms, options, enc, settings = lists.full, {}, lists.enc, {}
    if lacks in {"without_pii", "wrong_pii"}:
        kms = getattr(lists, lacks)
    elif lacks == "open":
        enc = pme.Encryption(
            kms=kms,
            footer_key="footer",
            column_keys={"mig_pii": ["name"]},
            unlisted_columns="plaintext",
        )
    elif lacks == "session":
        settings = {"spark.datasource.pme-parquet.deniedColumns": "null"}
    else:
        options = {"orcMasks": "allow"} if lacks == "masks" else {"deniedColumns": "null"}
    expected = {
        "without_pii": pme.KeyDeniedError,
        "wrong_pii": pme.NotAuthenticError,
    }.get(lacks, pme.BadOptionError)
    with conf(settings), pytest.raises(expected) as refused:
        pme.migrate_orc(spark, source, tmp_path / "target", enc, kms=kms, options=options)
    assert left(tmp_path) == set()
    if lacks == "without_pii":
        assert "mig_pii" in str(refused.value)
        plan = pme.migrate_orc(spark, source, tmp_path / "target", enc, kms=kms, dry_run=True)
        assert {refusal.condition for refusal in plan.refusals} == {"PME_KEY_DENIED"}
        assert len(plan.refusals) == plan.files


def test_one_file_under_another_key_stops_all(spark: SparkSession, lists: Keys, source: Path, tmp_path: Path) -> None:
    """Its column that the read has not selected counts, too: with masks it would look like the others."""
    path = shutil.copytree(source, tmp_path / "source")
    other = Keys(tmp_path)
    frame = people(spark).drop("country").coalesce(1)
    kms = other.kms("other", {"mig_other": bytes(16)})
    frame.write.format("pme-orc").options(**kms, columnKeys="mig_other: salary").save(str(tmp_path / "one"))
    [file] = [file for file in files_under(tmp_path / "one") if file.suffix == ".orc"]
    shutil.copy(file, path / "country=it" / "more.orc")
    with pytest.raises(pme.KeyDeniedError, match=r"more\.orc.*mig_other"):
        pme.migrate_orc(spark, path, tmp_path / "target", lists.enc)
    both = other.kms("both", RAW | {"mig_other": bytes(16)})
    with pytest.raises(pme.BadOptionError, match="several keys"):
        pme.migrate_orc(spark, path, tmp_path / "target", lists.enc, kms=both)
    assert "target" not in left(tmp_path)


ACID = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,currentTransaction:bigint,"
    "row:struct<a:int>>"
)
REFUSED = {
    "union": ("struct<u:uniontype<int,string>>", "union"),
    "instant": ("struct<t:timestamp with local time zone>", "LOCAL TIME ZONE"),
    "positional": ("struct<_col0:int,_col1:string>", "_col0"),
    "cases": ("struct<ssn:int,SSN:int>", "letter case"),
    "nested cases": ("struct<s:struct<a:int,A:int>>", "letter case"),
    "no fields": ("struct<a:int,s:struct<>>", "without fields"),
    "partition column": ("struct<a:int,day:int>", "partition column"),
    "acid": (ACID, "ACID"),
}
PLACES = {"acid directory": "delta_0000001_0000001_0000", "other directory": "more"}


@pytest.mark.parametrize("what", [*REFUSED, *PLACES, "acid metadata"])
def test_what_parquet_does_not_have_is_refused_by_name(
    spark: SparkSession, lists: Keys, tmp_path: Path, what: str
) -> None:
    schema, message = REFUSED.get(what, ("struct<a:int>", "ACID" if "acid" in what else "no partition"))
    directory = tmp_path / "source" / PLACES.get(what, "day=1")
    empty_file(
        spark,
        directory / "a.orc",
        schema,
        "hive.acid.key.index" if what == "acid metadata" else "",
    )
    with pytest.raises(pme.UnsupportedError, match=message):
        pme.migrate_orc(
            spark,
            tmp_path / "source",
            tmp_path / "target",
            lists.enc,
            options={"plaintextFiles": "allow"},
        )
    assert left(tmp_path) == {"source"}


def test_chars_empty_files_and_files_without_columns(
    spark: SparkSession, lists: Keys, tmp_path: Path, conf: Conf
) -> None:
    source = tmp_path / "source"
    empty_file(spark, source / "a.orc", "struct<c:char(5),i:int>", texts=["ab", "abcde"])
    empty_file(spark, source / "b.orc", "struct<>")
    (source / "c.orc").touch()
    expected = rows(spark.read.format("orc").load(str(source)))
    assert "ab   " in "".join(expected)
    with pytest.raises(pme.PlaintextFileError):
        pme.migrate_orc(spark, source, tmp_path / "target", lists.enc)
    done = pme.migrate_orc(
        spark,
        source,
        tmp_path / "target",
        lists.enc,
        options={"plaintextFiles": "allow"},
    )
    assert (done.files, done.rows) == (2, 2)
    reader = spark.read.format("pme-parquet").options(**lists.full)
    assert rows(reader.load(str(tmp_path / "target"))) == expected
    with conf({"spark.sql.caseSensitive": "true"}):
        empty_file(spark, tmp_path / "cases" / "a.orc", "struct<c:string,C:string>")
        options = {"plaintextFiles": "allow"}
        assert pme.migrate_orc(spark, tmp_path / "cases", tmp_path / "two", lists.enc, options=options).files == 1


def test_tables_of_a_catalog_name_columns_and_keep_master_keys(
    spark: SparkSession, lists: Keys, tmp_path: Path
) -> None:
    """The files have no names, as Hive's, one partition lies elsewhere, and the KMS has only the wrapping key."""
    columns = "CAST(id AS INT) AS _col0, concat('ssn-', id) AS _col1"
    for place, start in (("one", 0), ("elsewhere", 10)):
        frame = spark.range(start, start + 5, 1, 1).selectExpr(*columns.split(", ", 1))
        write(frame, tmp_path / place, lists, "mig_pii: _col1")
    kms = lists.kms(
        "wrapping",
        {
            "orc": bytes(range(7, 23)),
            "footer": bytes(16),
            "mig_pii": bytes(range(9, 25)),
        },
    )
    (tmp_path / "key").write_text(base64.b64encode(RAW["mig_pii"]).decode())
    wrapped = pme.wrap_orc_key(spark, kms, master_key=pme.file(tmp_path / "key"), key="mig_pii", kms_key="orc")
    assert json.loads(pme.wrap_orc_key(spark, kms, master_key=RAW["mig_pii"], key="mig_pii", kms_key="orc")).keys() == (
        json.loads(wrapped).keys()
    )
    for bad in (b"short", bytes(24)):
        with pytest.raises(pme.BadOptionError, match="128 or 256"):
            pme.wrap_orc_key(spark, kms, master_key=bad, key="k", kms_key="orc")
    spark.sql(
        "CREATE TABLE mig_hive (id INT, ssn STRING, day STRING) USING orc PARTITIONED BY (day) "
        f"LOCATION '{tmp_path / 'table'}' TBLPROPERTIES ('orc.keys' = '{wrapped}')"
    )
    try:
        spark.sql(f"ALTER TABLE mig_hive ADD PARTITION (day = 'a b') LOCATION '{tmp_path / 'one'}'")
        spark.sql(f"ALTER TABLE mig_hive ADD PARTITION (day = '01') LOCATION '{tmp_path / 'elsewhere'}'")
        enc = pme.Encryption(kms=kms, footer_key="footer")
        options = {"orcKeyProperty": "orc.keys"}
        for name in ("mig_hive", "spark_catalog.default.mig_hive"):
            target = tmp_path / f"target-{len(name)}"
            assert pme.migrate_orc(spark, name, target, enc, options=options).rows == 10
            got = (
                spark.read.format("pme-parquet")
                .options(**kms, columnKeys="mig_pii: ssn", footerKey="footer")
                .load(str(target))
            )
            assert {(row.id, row.ssn) for row in got.collect()} == {
                (n, f"ssn-{n}") for n in (*range(5), *range(10, 15))
            }
            assert {file.parent.name for file in data_files(target)} == {
                "day=a b",
                "day=01",
            }
        # Without the property the KMS's own key of that name counts, which is another one.
        with pytest.raises(pme.NotAuthenticError):
            pme.migrate_orc(spark, "mig_hive", tmp_path / "other", enc)
    finally:
        spark.sql("DROP TABLE mig_hive")


MISFITS = {
    "lacking": ("id BIGINT, ssn STRING", r"ssn_old.* does not exist in the table"),
    "narrower": ("id INT, ssn_old STRING, extra STRING", r"id.* long in the file and int in the table"),
}


def test_columns_of_a_catalog_take_all_that_is_in_the_files(
    spark: SparkSession, lists: Keys, tmp_path: Path, conf: Conf
) -> None:
    """What is taken by position, has no column or does not fit its type is refused; what is wider is not."""
    frame = spark.range(3).selectExpr("id + 10000000000 AS id", "concat('ssn-', id) AS ssn_old", "'x' AS extra")
    write(frame.coalesce(1), tmp_path / "source", lists, "mig_pii: ssn_old")
    open_ones = pme.Encryption(
        kms=lists.full, footer_key="footer", column_keys={"mig_pay": ["id"]}, unlisted_columns="plaintext"
    )
    enc, target, positions = lists.enc, tmp_path / "target", "orc.force.positional.evolution"

    def refused(columns: str, message: str, clause: str = "", **options: Any) -> None:
        spark.sql(f"CREATE TABLE mig_fit ({columns}) USING orc {clause} LOCATION '{tmp_path / 'source'}'")
        try:
            with pytest.raises(pme.UnsupportedError, match=message):
                pme.migrate_orc(spark, "mig_fit", target, open_ones, options=options)
        finally:
            spark.sql("DROP TABLE mig_fit")

    for columns, message in MISFITS.values():
        refused(columns, message)
    renamed = "id BIGINT, ssn STRING, extra STRING"
    refused(renamed, positions, **{positions: "true"})
    refused(renamed, positions, f"OPTIONS ('{positions}' = 'true')")
    with conf({positions: "true"}):
        refused(renamed, positions)
    assert left(tmp_path) == {"source"}
    wider = {"i": ("INT", "BIGINT"), "f": ("FLOAT", "DOUBLE"), "d": ("DECIMAL(5,2)", "DECIMAL(9,4)")}
    cells = [f"CAST(id * 1.5 AS {small}) AS {name}" for name, (small, _) in wider.items()]
    narrow = spark.range(-3, 3).selectExpr(*cells, "named_struct('a', id) AS s", "CAST(id AS STRING) AS c")
    write(narrow.coalesce(1), tmp_path / "narrow", lists, "mig_pii: i, d, s.a, c")
    columns = ", ".join(f"{name} {wide}" for name, (_, wide) in wider.items())
    spark.sql(
        f"CREATE TABLE mig_wide ({columns}, s STRUCT<a: BIGINT, b: STRING>, c CHAR(4), more INT) USING orc "
        f"LOCATION '{tmp_path / 'narrow'}'"
    )
    try:
        pme.migrate_orc(spark, "mig_wide", target, enc)
    finally:
        spark.sql("DROP TABLE mig_wide")
    got = spark.read.format("pme-parquet").options(**lists.full).load(str(target))
    shown = [f"CAST({name} AS {wide}) AS {name}" for name, (_, wide) in wider.items()]
    expected = narrow.selectExpr(
        *shown,
        "named_struct('a', s.a, 'b', CAST(NULL AS STRING)) AS s",
        "rpad(c, 4, ' ') AS c",
        "CAST(NULL AS INT) AS more",
    )
    assert rows(got) == rows(expected)
    with pytest.raises(pme.BadOptionError, match=r"not empty.*pme\.seal"):
        pme.migrate_orc(spark, tmp_path / "narrow", target, enc, seal=True)


def test_a_column_that_some_files_lack_and_a_prefix_of_the_target(
    spark: SparkSession, lists: Keys, tmp_path: Path
) -> None:
    write(
        spark.range(3).selectExpr("id", "'x' AS ssn"),
        tmp_path / "source",
        lists,
        "mig_pii: ssn",
    )
    more = spark.range(3, 6).selectExpr("'y' AS ssn", "id AS more", "id")
    more.write.format("pme-orc").options(**lists.full, columnKeys="mig_pii: ssn; mig_pay: more").mode("append").save(
        str(tmp_path / "source")
    )
    enc = pme.Encryption(
        kms=lists.full,
        footer_key="footer",
        aad_prefix="{table}/{file}",
        store_aad_prefix=False,
    )
    pme.migrate_orc(spark, tmp_path / "source", tmp_path / "target", enc)
    reader = spark.read.format("pme-parquet").options(**lists.full, aadPrefix="{table}/{file}")
    got = {(row.id, row.ssn, row.more) for row in reader.load(str(tmp_path / "target")).collect()}
    assert got == {
        (0, "x", None),
        (1, "x", None),
        (2, "x", None),
        (3, "y", 3),
        (4, "y", 4),
        (5, "y", 5),
    }


def test_what_an_earlier_run_left_is_compared_before_it_counts(
    spark: SparkSession, lists: Keys, source: Path, tmp_path: Path
) -> None:
    """A file that another one replaced is written again, and so is that of a source file which changed."""
    path = shutil.copytree(source, tmp_path / "source")
    damaged = min(file for file in files_under(path) if file.suffix == ".orc")
    good = damaged.read_bytes()
    # The values: footers and statistics stay as they are.
    first, last = data_of_first_stripe(spark, damaged)
    (damaged.parent / f".{damaged.name}.crc").unlink(missing_ok=True)
    damaged.write_bytes(good[:first] + bytes(byte ^ 255 for byte in good[first:last]) + good[last:])
    with pytest.raises(pme.PmeError):
        pme.migrate_orc(spark, path, tmp_path / "target", lists.enc)
    [staging] = tmp_path.glob(".target.pme-migrate-*")
    staged = data_files(staging / "table")
    assert (len(staged), "target" in left(tmp_path), list(staging.iterdir())) == (
        5,
        False,
        [staging / "table"],
    )
    damaged.write_bytes(good)
    os.utime(damaged, (time.time() + 5, time.time() + 5))
    for file in staged[:1]:
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
        file.write_bytes(staged[1].read_bytes())
    (staging / "table" / "country=de" / "planted.parquet").write_bytes(staged[1].read_bytes())
    done = pme.migrate_orc(spark, path, tmp_path / "target", lists.enc)
    assert (done.files, done.already, left(tmp_path)) == (6, 4, {"source", "target"})
    reader = spark.read.format("pme-parquet").options(**lists.full)
    mine: Any = spark.read.format("pme-orc").options(**lists.full).load(str(source))
    assert rows(reader.load(str(tmp_path / "target"))) == rows(mine)
