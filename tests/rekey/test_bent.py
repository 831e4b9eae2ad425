"""If storage alters what is written to it, this is detected before a copy appears or an original is replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.rekey.bending import Bend, bending
from tests.rekey.copies import left
from tests.rekey.waiting import wait_until_alone
from tests.support.canary import data_files
from tests.support.expect import refused
from tests.support.frames import people
from tests.support.session import TEST_KMS
from tests.support.source import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

GCM = pme.Encryption(kms=TEST_KMS, uniform_key="footer")
CTR = pme.Encryption(kms=TEST_KMS, uniform_key="footer", algorithm="AES_GCM_CTR_V1")
# Columns without a key come first, so the altered page is one of theirs.
SOME = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": "ssn"}, unlisted_columns="plaintext")
IN_FIRST_PAGE = 120


@pytest.fixture
def bend(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, conf: Conf) -> Bend:
    return bending(spark, tmp_path_factory, conf)


@pytest.fixture
def plain(spark: SparkSession, tmp_path: Path) -> Path:
    """Return a plaintext table whose pages have no checksums."""
    path = tmp_path / "plain"
    people(spark).write.option("parquet.page.write-checksum.enabled", "false").parquet(str(path))
    return path


@pytest.mark.parametrize(
    ("enc", "condition"),
    [(GCM, "PME_NOT_AUTHENTIC"), (CTR, "PME_DAMAGED_FILE"), (SOME, "PME_DAMAGED_FILE"), (None, "PME_DAMAGED_FILE")],
    ids=["GCM", "CTR", "a column without key", "no encryption"],
)
def test_a_copy_altered_on_its_way_to_the_disk_does_not_appear(
    spark: SparkSession, plain: Path, tmp_path: Path, bend: Bend, enc: pme.Encryption | None, condition: str
) -> None:
    source = plain
    if enc is None:
        source = tmp_path / "encrypted"
        pme.encrypt(spark, str(plain), str(source), GCM)
    before = left(tmp_path)
    with bend(IN_FIRST_PAGE), refused(condition, "failed its check"):
        if enc is None:
            pme.decrypt(spark, str(source), str(tmp_path / "target"), TEST_KMS, write_plaintext=True)
        else:
            pme.encrypt(spark, str(source), str(tmp_path / "target"), enc)
    wait_until_alone(spark)
    assert left(tmp_path) == before


def test_an_original_stays_if_its_encrypted_file_was_altered(spark: SparkSession, plain: Path, bend: Bend) -> None:
    expected = rows(spark.read.parquet(str(plain)))
    files = data_files(plain)
    before = {file: file.read_bytes() for file in files}
    with bend(IN_FIRST_PAGE), refused("PME_NOT_AUTHENTIC", "failed its check", "2 of 2 files"):
        pme.encrypt(spark, str(plain), enc=GCM, in_place=True)
    assert {file: file.read_bytes() for file in files} == before
    assert rows(spark.read.parquet(str(plain))) == expected
    with bend(-1):
        assert pme.encrypt(spark, str(plain), enc=GCM, in_place=True).files == len(files)
    assert rows(spark.read.format("pme-parquet").options(kms=TEST_KMS).load(str(plain))) == expected
