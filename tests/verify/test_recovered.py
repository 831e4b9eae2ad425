"""What `pme.recover` writes and lists in Python; `RecoverySuite` and `FileRecoverySuite` have the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.expect import assert_no_secret, assert_remedy, save
from tests.support.files.forge import cut, damage
from tests.support.frames import people
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ENC = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": ["name", "ssn"]})
COUNT = 80


def test_what_opens_comes_back_and_the_rest_is_listed(spark: SparkSession, target: str, tmp_path: Path) -> None:
    frame = people(spark, count=COUNT).repartition(8)
    truth = {row.id: row for row in frame.collect()}
    save(frame, target, ENC.options())
    damaged, truncated, *_ = data_files(target)
    damage(damaged)
    cut(truncated)
    sound = tmp_path / "sound"
    lost = pme.recover(spark, target, sound, ENC, lost="rows", seal=True)
    rows = {row.asDict()["file"].rpartition("/")[2]: row for row in lost.collect()}
    assert rows.keys() == {damaged.name, truncated.name}
    page, file = rows[damaged.name], rows[truncated.name]
    assert (page.row_group, page.column, page.first_row, page.condition) == (0, "id", 0, "PME_NOT_AUTHENTIC")
    assert (file.row_group, file.column, file.first_row, file.rows) == (None, None, None, None)
    assert file.condition == "PME_DAMAGED_FILE"
    for row in rows.values():
        assert_remedy(row.message)
        assert_no_secret(row.message)
    came = lost.recovered
    back = pme.read(spark, sound, ENC).collect()
    assert {row.id: row for row in back} == {row.id: truth[row.id] for row in back}
    # Files have equally many rows.
    assert (came.rows, len(back)) == (COUNT * 6 // 8, COUNT * 6 // 8)
    assert (came.files, came.rows_left_out, came.rows_with_loss, came.lost_files) == (6, page.rows, 0, 1)
    assert came.sealed is not None
    [version] = pme.snapshots(sound).versions
    assert version.writer.endswith(f", recovered from file:{target}")


def test_cells_that_are_lost_are_null_and_named(spark: SparkSession, target: str, tmp_path: Path) -> None:
    frame = people(spark, count=COUNT).select("id", "name", "ssn", "tags").coalesce(1)
    save(frame, target, ENC.options())
    [file] = data_files(target)
    damage(file)
    lost = pme.recover(spark, target, tmp_path / "sound", ENC, lost="cells")
    assert str(lost.recovered) == f"1 file, {COUNT} rows came back; {COUNT} rows without some values"
    back = pme.read(spark, tmp_path / "sound", ENC)
    assert {(row.id, tuple(row.lost_columns)) for row in back.collect()} == {(None, ("id",))}
    assert back.drop("id", "lost_columns").exceptAll(frame.drop("id")).count() == 0


@pytest.mark.parametrize(
    ("given", "text"), [({"lost": "some"}, "lost"), ({"lost": "rows", "signing": "signer"}, "signing names a key")]
)
def test_arguments_are_checked(given: Any, text: str) -> None:
    session: Any = object()
    with pytest.raises(pme.BadOptionError, match=text):
        pme.recover(session, "people", "sound", ENC, **given)


def test_over_spark_connect_recovery_says_that_it_cannot() -> None:
    session: Any = object()
    with pytest.raises(pme.UnsupportedError, match=r"pme\.recover"):
        pme.recover(session, "people", "sound", ENC, lost="rows")
