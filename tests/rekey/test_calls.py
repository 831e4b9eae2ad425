"""The number of KMS calls to copy a table: one for each key of the source, and two for each of the copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.files import bend
from tests.support.kms.access import read, rows
from tests.support.kms.counting import FOOTER, Log, load, log, written

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

FILES = 12


@pytest.fixture(scope="module", autouse=True)
def _kms_class(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    load(spark, tmp_path_factory)


@pytest.mark.parametrize("double", [True, False])
def test_a_copy_asks_as_often_as_a_read_a_write_and_a_read(
    spark: SparkSession, tmp_path: Path, target: str, *, double: bool
) -> None:
    table = written(spark, tmp_path, 3, FILES)
    old, new = log(tmp_path), log(tmp_path)
    enc = pme.Encryption(kms=new, footer_key=FOOTER, column_keys={"a": ["c0", "c1"], "b": "c2"}, double_wrapping=double)
    done = pme.rekey(spark, table.path, target, enc, kms=old)
    assert (done.files, done.rows) == (FILES, len(table.rows()))
    assert len(data_files(target)) == FILES
    assert (old.count("unwrap"), old.count("wrap")) == (table.keys(), {})
    if double:
        assert (new.count("wrap"), new.count("unwrap")) == ({FOOTER: 1, "a": 1, "b": 1}, {FOOTER: 1, "a": 1, "b": 1})
    else:
        # Each data key is wrapped separately: per file one for the footer, and one for each column with a key.
        keys = {FOOTER: FILES, "a": 2 * FILES, "b": FILES}
        assert new.count("unwrap") == keys
        assert new.count("wrap") == {key: count + 1 for key, count in keys.items()}
    assert rows(read(spark, target, Log(new.path).options())) == table.rows()


def test_for_an_unreadable_source_no_new_key_is_wrapped(spark: SparkSession, tmp_path: Path, target: str) -> None:
    table, new = written(spark, tmp_path, 1, 2), log(tmp_path)
    file = data_files(table.path)[0]
    bend.replace(file, file.read_bytes()[:-1])
    with pytest.raises(pme.PmeError, match="PME_DAMAGED_FILE"):
        pme.rekey(spark, table.path, target, pme.Encryption(kms=new, uniform_key="a"))
    assert new.count("wrap") == {}
