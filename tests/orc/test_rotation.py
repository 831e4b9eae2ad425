"""`pme.rotate` of ORC tables, end to end, with ORC's own command as outside check of the rotated files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from tests.orc.tools import Tools
from tests.support import encrypted_orc as orc
from tests.support.encrypted_orc import PAY, PII, read, rows, save
from tests.support.expect import refused, untouched
from tests.support.kms import counting

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = f"{PII}: ssn; {PAY}: salary, address"
RENAMED = {PII: "new-pii", PAY: "new-pay@2"}


def test_a_rotated_table_opens_with_the_new_keys_alone_and_others_see_no_change(
    spark: SparkSession, people: DataFrame, target: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    counting.load(spark, tmp_path_factory)
    user = counting.Log(tmp_path / "calls")
    save(people, target, user.options(), columnKeys=COLUMNS, compression="zlib")
    files = orc.files(target)

    def seen_by_others() -> tuple[list[list[str]], list[Any]]:
        """Return rows and stripes of each file as ORC's own command shows them without a key."""
        [*lines], _ = Tools().data(files)
        [*found], _ = Tools().meta(files)
        return lines, [one["stripes"] for one in found]

    others = seen_by_others()
    with untouched(target):
        dry = pme.rotate(spark, target, options=user.options(), master_keys=RENAMED, dry_run=True)
    assert dry.counts == {"rotated": len(files)}

    report = pme.rotate(spark, target, options=user.options(), master_keys=RENAMED)

    assert report.counts == {"rotated": len(files)}
    assert {key.master_key for key in pme.inspect(files[0]).files[0].column_keys} == {"new-pii", "new-pay@2"}
    # This user has the new keys only.
    assert rows(read(spark, target, user.options(deny=PII))) == rows(people)
    with refused("PME_KEY_DENIED", "ssn"):
        read(spark, target, user.options(deny="new-pii")).collect()
    assert pme.verify(spark, target, options=user.options()).collect() == []
    assert seen_by_others() == others
    again = pme.rotate(spark, target, options=user.options(), master_keys=RENAMED)
    assert again.counts == {"unchanged": len(files)}


def test_keys_that_orc_makes_of_a_master_key_are_refused(
    spark: SparkSession, owner: dict[str, str], people: DataFrame, target: str
) -> None:
    save(people, target, owner, columnKeys=COLUMNS)
    with untouched(target), refused("PME_UNSUPPORTED", PII, "pme.rekey"):
        pme.rotate(spark, target, options=owner, master_keys={PII: PAY})


def test_a_copy_with_new_keys_opens_with_them_alone_for_orc_s_memory_provider_as_well(
    spark: SparkSession, owner: dict[str, str], people: DataFrame, target: str, tmp_path: Path
) -> None:
    save(people, target, owner, columnKeys=COLUMNS)
    copy = str(tmp_path / "copy")
    keys = orc.static(tmp_path / "keys")
    swapped = {PAY: ["ssn"], PII: ["salary", "address"]}
    enc = pme.Encryption(kms=pme.Static(pme.file(keys["kms.static.keys"].removeprefix("file:"))), column_keys=swapped)

    done = pme.rekey(spark, target, copy, enc, options=owner)

    assert (done.files, done.rows) == (len(orc.files(target)), 1000)
    assert rows(read(spark, copy, keys)) == rows(people)
    assert rows(orc.read_by_spark(spark, copy)) == rows(people)
    assert pme.verify(spark, copy, options=keys).collect() == []
    # ORC's own command sees the same rows without a key.
    [*masked], _ = Tools().data([*orc.files(target), *orc.files(copy)])
    assert masked[: len(masked) // 2] == masked[len(masked) // 2 :]
    with refused("PME_KEY_DENIED", "ssn"):
        read(spark, copy, orc.static(tmp_path / "few", [PII])).select("ssn").collect()
    enc = pme.Encryption(kms=enc.kms, column_keys={PAY: ["ssn"]})
    with untouched(str(tmp_path / "other")), refused("PME_UNSUPPORTED", "salary"):
        pme.rekey(spark, target, tmp_path / "other", enc, options=owner)
