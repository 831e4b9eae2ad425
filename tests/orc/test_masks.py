"""Masks are never taken for data: what readers without a key see, and what a wrong key leads to."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import encrypted_orc as orc
from tests.support.encrypted_orc import (
    MEMORY,
    PAY,
    PII,
    VECTORIZED,
    every_decoder,
    read,
    read_without_keys,
    rows,
    save,
    save_by_spark,
)
from tests.support.expect import DONE, outcome, refused, untouched
from tests.support.logs import warnings

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

SETTING = "spark.datasource.pme-parquet."
FREE = ["id", "salary"]
DENIED = ["ssn", "email", "born", "age", "address", "tags"]
MASKS = "sha256:ssn,address.lines;redact:age,born;nullify:email"


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.range(0, 500, 1, 2).selectExpr(
        "id",
        "id * 1.5D AS salary",
        "concat('ssn-', id) AS ssn",
        "concat(id, '@example.org') AS email",
        "date_add(DATE'1950-03-04', CAST(id AS INT)) AS born",
        "CAST(id % 90 AS INT) AS age",
        "named_struct('city', concat('c', id % 7), 'lines', array(concat('l', id))) AS address",
        "array(concat('t', id)) AS tags",
    )


@pytest.fixture(scope="module", params=["ours", "spark"])
def table(
    spark: SparkSession,
    owner: dict[str, str],
    frame: DataFrame,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> str:
    """Return a table with every mask, and a column of ``PAY`` without one, by us or by Spark's own ``orc``."""
    path = str(tmp_path_factory.mktemp("masked") / "table")
    keys = {PII: ["ssn", "email", "born", "age", "address.lines", "tags"], PAY: ["salary"]}
    if request.param == "ours":
        save(frame, path, owner, columnKeys=orc.text(keys), **{"orc.mask": MASKS})
    else:
        save_by_spark(frame, path, orc.encrypt(keys), **{"orc.mask": MASKS})
    assert read_without_keys(spark, path).where("ssn LIKE 'ssn-%'").count() == 0
    return path


def nulls(frame: DataFrame) -> DataFrame:
    """Return the frame as a reader without ``PII`` sees it: a struct that holds a refused column is NULL as a whole."""
    return frame.selectExpr(
        *(f"IF(true, NULL, {name}) AS {name}" if name in DENIED else name for name in frame.columns)
    )


@every_decoder
def test_the_owner_reads_the_data_of_every_masked_column(
    spark: SparkSession, conf: Conf, owner: dict[str, str], frame: DataFrame, table: str, vectorized: str
) -> None:
    for more in ({}, {"deniedColumns": "null"}, {"deniedColumns": "drop"}, {"orcMasks": "allow"}):
        with conf({VECTORIZED: vectorized}):
            assert rows(read(spark, table, owner, **more)) == rows(frame)


@every_decoder
def test_by_default_an_analyst_reads_what_the_keys_allow_and_no_mask(
    spark: SparkSession, conf: Conf, analyst: dict[str, str], frame: DataFrame, table: str, vectorized: str
) -> None:
    with conf({VECTORIZED: vectorized}):
        ours = read(spark, table, analyst)
        assert ours.schema.simpleString() == frame.schema.simpleString()
        assert rows(ours.select(FREE)) == rows(frame.select(FREE))
        assert ours.count() == frame.count()
        for column in (*DENIED, "address.lines"):
            with refused("PME_KEY_DENIED", f"'{PII}@0'", column.partition(".")[0]):
                ours.select(column).collect()
        with refused("PME_KEY_DENIED", PII):
            ours.where("ssn = 'ssn-7'").select("id").collect()
        with refused("PME_KEY_DENIED", PII):
            ours.agg({"age": "max"}).collect()


@every_decoder
def test_denied_columns_read_as_null(
    spark: SparkSession, conf: Conf, analyst: dict[str, str], frame: DataFrame, table: str, vectorized: str
) -> None:
    with conf({VECTORIZED: vectorized}):
        ours = read(spark, table, analyst, deniedColumns="null")
        assert ours.schema.simpleString() == frame.schema.simpleString()
        assert rows(ours) == rows(nulls(frame))
        assert rows(ours.where("salary > 600")) == rows(nulls(frame).where("salary > 600"))
        # Without the option deniedPredicates a condition on them fails, as for Parquet.
        for condition in ("ssn = 'ssn-7'", "age IS NULL", "NOT (email > 'a') AND id > 3"):
            assert outcome(lambda c=condition: ours.where(c).collect()) == "PME_KEY_DENIED"  # type: ignore[misc]
        # So does what chooses by them.
        for chosen in (
            "max_by(id, ssn)",
            "IF(ssn IS NULL, NULL, id)",
            "last_value(id) OVER (ORDER BY age)",
            "hash(ssn)",
        ):
            assert outcome(lambda c=chosen: ours.selectExpr(c).collect()) == "PME_KEY_DENIED", chosen  # type: ignore[misc]
        assert ours.selectExpr("max(upper(ssn)) AS m", "max_by(age, id) AS a").collect() == [(None, None)]
        asked = read(spark, table, analyst, deniedColumns="null", deniedPredicates="null")
        for condition in ("ssn = 'ssn-7'", "age IS NULL", "ssn IS NULL AND salary < 30"):
            assert rows(asked.where(condition)) == rows(nulls(frame).where(condition))


@every_decoder
def test_denied_columns_are_left_out(
    spark: SparkSession, conf: Conf, analyst: dict[str, str], frame: DataFrame, table: str, vectorized: str
) -> None:
    with conf({VECTORIZED: vectorized}):
        ours = read(spark, table, analyst, deniedColumns="drop")
        assert ours.columns == [name for name in frame.columns if name not in DENIED]
        assert rows(ours) == rows(frame.select(ours.columns))


@every_decoder
def test_masks_are_shown_to_who_asks_for_them_and_a_warning_says_so_once(
    spark: SparkSession, conf: Conf, tmp_path: Path, frame: DataFrame, table: str, vectorized: str
) -> None:
    # Settings of its own, so that its scope is new.
    analyst = orc.static(tmp_path / "analyst", [PAY], another=sha256(str(tmp_path).encode()).digest())
    with conf({VECTORIZED: vectorized}), warnings(spark) as seen:
        ours = read(spark, table, analyst, orcMasks="allow")
        shown = ours.orderBy("id").collect()
        assert rows(ours) == sorted(map(repr, shown))
    assert [line for line in seen if "orcMasks=allow" in line] == [line for line in seen if PII in line][:1]
    assert len([line for line in seen if "orcMasks=allow" in line]) == 1
    row, true = shown[7], frame.where("id = 7").collect()[0]
    assert (row.id, row.salary, row.email, row.tags) == (7, true.salary, None, None)
    assert len(row.ssn) == 64
    assert row.age == 9
    assert (row.born.year, row.born.month, row.born.day) == (true.born.year, 1, 1)
    assert row.address.city == true.address.city
    assert len(row.address.lines[0]) == 64
    # What the data's statistics say must skip no mask.
    assert ours.where(f"ssn = '{row.ssn}'").count() == 1
    assert ours.where("age = 9").count() == ours.where("age IS NOT NULL").where("age = 9").count()


def test_spark_s_own_format_with_our_provider_keeps_to_the_same_rules(
    spark: SparkSession, conf: Conf, analyst: dict[str, str], frame: DataFrame, table: str
) -> None:
    provider = {"orc.key.provider": "pme"}

    def theirs(**more: str) -> DataFrame:
        return spark.read.format("orc").options(**provider, **more).load(table)

    with conf({SETTING + name: value for name, value in analyst.items()}):
        assert rows(theirs().select(FREE)) == rows(frame.select(FREE))
        with refused("PME_KEY_DENIED", PII, "ssn"):
            theirs().select("ssn").collect()
        assert rows(theirs(deniedColumns="null")) == rows(nulls(frame))
        assert len(theirs(orcMasks="allow").where("id = 7").collect()[0].ssn) == 64
    # Settings of the session apply, too.
    with conf({SETTING + name: value for name, value in (analyst | {"deniedColumns": "null"}).items()}):
        assert rows(theirs()) == rows(nulls(frame))
    # Without a KMS there is no key, and no mask either.
    assert outcome(lambda: theirs().select("ssn").collect()) not in (DONE, "")


@every_decoder
@pytest.mark.parametrize("codec", ["none", "zlib", "zstd"])
def test_a_wrong_key_is_reported_whatever_the_compression(
    spark: SparkSession,
    conf: Conf,
    owner: dict[str, str],
    stranger: dict[str, str],
    people: DataFrame,
    target: str,
    codec: str,
    vectorized: str,
) -> None:
    save(people, target, owner, columnKeys=f"{PII}: ssn, address; {PAY}: salary", compression=codec)
    with conf({VECTORIZED: vectorized}):
        wrong = read(spark, target, stranger)
        assert rows(wrong.select("id", "salary")) == rows(people.select("id", "salary"))
        for column in ("ssn", "address", "address.city"):
            with refused("PME_NOT_AUTHENTIC", column.partition(".")[0], PII, "AES-CTR"):
                wrong.select(column).collect()
        # A wrong key is no refusal, which masks or NULL could follow.
        for more in ({"deniedColumns": "null"}, {"deniedColumns": "drop"}, {"orcMasks": "allow"}):
            assert outcome(lambda m=more: read(spark, target, stranger, **m).select("ssn").collect()) == (  # type: ignore[misc]
                "PME_NOT_AUTHENTIC"
            )


REDACTED = {
    "CAST(id AS INT)": 9,
    "id * 11": 99,
    "id * 1.5D": 9.99999,
    "CAST(CAST(id AS STRING) AS BINARY)": None,
}
# ORC's own writer fails, whoever calls it: with any provider.
UNREDACTED = ["concat('s', id)", "CAST(id AS DECIMAL(9, 2))"]


def test_redaction_works_for_what_orcs_writer_can_redact(
    spark: SparkSession, owner: dict[str, str], tmp_path: Path
) -> None:
    base = spark.range(3, 4, 1, 1)
    mask: dict[str, Any] = {"orc.mask": "redact:v"}
    for at, (value, shown) in enumerate(REDACTED.items()):
        path = str(tmp_path / f"t{at}")
        save(base.selectExpr("id", f"{value} AS v"), path, owner, columnKeys=f"{PII}: v", **mask)
        [row] = read_without_keys(spark, path).collect()
        assert row.v == shown, value
        assert rows(read(spark, path, owner)) == rows(base.selectExpr("id", f"{value} AS v"))
    for at, value in enumerate(UNREDACTED):
        written = base.selectExpr("id", f"{value} AS v").write.mode("overwrite")
        options = {"orc.encrypt": f"{PII}:v", **MEMORY, **mask}
        assert outcome(lambda w=written, o=options: w.format("orc").options(**o).save(str(tmp_path / "s"))) != DONE  # type: ignore[misc]
        path = str(tmp_path / f"u{at}")
        assert (
            outcome(
                lambda v=value, p=path: save(
                    base.selectExpr("id", f"{v} AS v"), p, owner, columnKeys=f"{PII}: v", **mask
                )  # type: ignore[misc]
            )
            != DONE
        )


BAD_MASKS = {
    "redact:id": "'id' is not encrypted",
    "rot13:ssn": "rot13",
    "nullify": "nullify",
    "sha256:nope": "nope",
    "redact:ssn": "redacts texts",
}


@pytest.mark.parametrize("mask", BAD_MASKS)
def test_a_mask_that_orc_would_not_apply_is_refused(
    owner: dict[str, str], people: DataFrame, target: str, mask: str
) -> None:
    with untouched(target), refused("PME_BAD_OPTION", "orc.mask", BAD_MASKS[mask]):
        save(people, target, owner, columnKeys=f"{PII}: ssn, salary", **{"orc.mask": mask})
