"""`pme.verify` and `pme.key_usage` of ORC files, and a file that changes after it was listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from tests.support import encrypted_orc as orc
from tests.support.encrypted_orc import PAY, PII, read, rows, save
from tests.support.expect import refused

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

COLUMNS = f"{PII}: ssn; {PAY}: salary"


def found(spark: SparkSession, target: str, options: dict[str, str]) -> set[tuple[str | None, str]]:
    """Return columns and conditions of what a verification finds."""
    return {(one.column, one.condition) for one in pme.verify(spark, target, options=options).collect()}


def test_verify_reads_whole_files_and_finds_missing_wrong_and_damaged(
    spark: SparkSession,
    owner: dict[str, str],
    analyst: dict[str, str],
    stranger: dict[str, str],
    people: DataFrame,
    target: str,
) -> None:
    save(people, target, owner, columnKeys=COLUMNS)
    assert found(spark, target, owner) == set()
    assert found(spark, target, analyst) == {("ssn", "PME_KEY_DENIED")}
    assert ("ssn", "PME_NOT_AUTHENTIC") in found(spark, target, stranger)
    damaged = orc.files(target)[0]
    content = damaged.read_bytes()
    third = len(content) // 3
    # ORC authenticates nothing: one changed byte may be another value.
    damaged.write_bytes(content[:third] + bytes(third) + content[2 * third :])
    without_checksums(damaged)
    assert {condition for _, condition in found(spark, target, owner)} == {"PME_DAMAGED_FILE"}


def test_key_usage_lists_the_keys_of_columns_and_what_anyone_can_read(
    spark: SparkSession, owner: dict[str, str], people: DataFrame, target: str
) -> None:
    save(people.select("id", "ssn", "salary"), target, owner, columnKeys=COLUMNS)
    usage = {
        (one.master_key, one.kind): (list(one.columns), one.files, one.rows, list(one.unreadable_columns))
        for one in pme.key_usage(spark, target).collect()
    }
    files = len(orc.files(target))
    assert usage == {
        (PII, "column"): (["ssn"], files, 1000, ["ssn"]),
        (PAY, "column"): (["salary"], files, 1000, ["salary"]),
        (None, "plaintext column"): (["id"], files, 1000, []),
    }


def test_an_end_that_was_appended_after_the_listing_is_refused(
    spark: SparkSession, owner: dict[str, str], people: DataFrame, target: str, tmp_path: Path
) -> None:
    save(people, target, owner, columnKeys=COLUMNS)
    people.limit(0).coalesce(1).write.orc(str(tmp_path / "plain"))
    listed: Any = read(spark, target, owner)
    assert rows(listed) == rows(people)
    end = orc.files(tmp_path / "plain")[0].read_bytes()
    file = orc.files(target)[0]
    with file.open("ab") as out:
        out.write(end)
    without_checksums(file)
    with refused("PME_UNSUPPORTED", file.name, "changed"):
        listed.collect()
    # Listed again, it is a file without encryption.
    with refused("PME_PLAINTEXT_FILE", file.name):
        read(spark, target, owner).collect()


def without_checksums(file: Path) -> None:
    """Remove what Hadoop's local file system keeps beside a file: a store of objects has nothing like it."""
    file.with_name(f".{file.name}.crc").unlink()
