"""Pages of other writers are opened in their own layouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.canary import data_files
from tests.support.files import bend, forge
from tests.support.files.anatomy import Anatomy, Kind, place
from tests.support.frames import people
from tests.support.interop import arrow_files
from tests.support.interop.modes import CTR, GCM, MODES, Mode, java_properties, java_read_properties, our_read_options
from tests.support.session import TEST_KMS
from tests.verify.findings import Found, tagged, untagged, verify

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

FACTORY = {"parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"}
UNIFORM = FACTORY | java_read_properties(TEST_KMS) | {"parquet.encryption.uniform.key": "footer"}


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_files_of_parquet_java_of_every_mode_are_opened(spark: SparkSession, target: str, mode: Mode) -> None:
    frame = people(spark).selectExpr("id", "name", "salary", "address", "tags", "scores")
    options = java_properties(mode._replace(uniform=True), TEST_KMS)
    frame.write.format("parquet").options(**FACTORY | options).save(target)
    found, opened = verify(spark, target, options=our_read_options(mode, TEST_KMS))
    assert found == {}
    assert (opened.untagged_pages > 0) == (mode.algorithm == CTR)
    if not mode.external:
        assert opened.modules == sum(tagged(Anatomy(path.read_bytes())) for path in data_files(target))


@pytest.mark.parametrize("algorithm", [GCM, CTR])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_files_of_pyarrow_are_opened(spark: SparkSession, tmp_path: Path, algorithm: str, version: str) -> None:
    path = tmp_path / "a.parquet"
    arrow_files.write_layout(
        arrow_files.table(3000), path, algorithm, data_page_version=version, data_page_size=2000, write_batch_size=100
    )
    file = Anatomy(path.read_bytes())
    options = {"kms": TEST_KMS, "algorithm": algorithm}
    found, opened = verify(spark, path, options=options)
    assert (found, opened.modules, opened.untagged_pages) == ({}, tagged(file), len(untagged(file)))
    chunk = file.named("id", row_group=1)
    header = chunk.of(Kind.DATA_PAGE_HEADER)[-1]
    bend.replace(path, forge.flip(file.content, place(header, "ciphertext")))
    found, _ = verify(spark, path, options=options)
    assert found == {path.name: [Found(1, "id", header.page, "data page header", "PME_NOT_AUTHENTIC")]}


def test_levels_outside_modules_are_found_once_per_column_and_its_pages_are_opened(
    spark: SparkSession, target: str
) -> None:
    layout = {"parquet.writer.version": "v2", "parquet.page.row.count.limit": "5", "parquet.enable.dictionary": "false"}
    frame = people(spark).selectExpr("id", "name").coalesce(1)
    frame.write.format("parquet").options(**UNIFORM | layout | {"parquet.page.size.row.check.min": "5"}).save(target)
    [path] = data_files(target)
    found, opened = verify(spark, target)
    assert found == {path.name: [Found(0, name, 0, "data page", "PME_UNSUPPORTED") for name in columns_of(found)]}
    allowed, more = verify(spark, target, options={"kms": TEST_KMS, "clearLevels": "allow"})
    assert (allowed, more.modules) == ({}, opened.modules)
    content = path.read_bytes()
    last = Anatomy(content).named("name").of(Kind.DATA_PAGE)[-1]
    bend.replace(path, forge.flip(content, last.end - 1))
    found, _ = verify(spark, target, options={"kms": TEST_KMS, "clearLevels": "allow"})
    assert [(one.column, one.page, one.module) for one in found[path.name]] == [("name", last.page, "data page")]


def columns_of(found: dict[str, list[Found]]) -> list[str]:
    """Return the columns that findings name; ``name`` is among them, because it has levels."""
    [rows] = found.values()
    names = [one.column for one in rows if one.column]
    assert "name" in names
    return names
