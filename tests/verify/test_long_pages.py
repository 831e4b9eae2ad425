"""Long pages, and indexes far from the end, are opened and read once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.expect import save
from tests.support.files import bend, forge
from tests.support.files.anatomy import Anatomy, Kind, place
from tests.support.session import TEST_KMS
from tests.verify.findings import Found, tagged, verify

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

PAGE_OF_A_ROW = {
    "kms": TEST_KMS,
    "uniformKey": "footer",
    "compression": "none",
    "parquet.page.row.count.limit": "1",
    "parquet.page.size.row.check.min": "1",
    "parquet.enable.dictionary": "false",
}


def large(spark: SparkSession, target: str) -> Path:
    """Write a file with some pages that are longer than one read, and many that are not."""
    frame = spark.range(0, 24, 1, 1).selectExpr(
        "id",
        "concat_ws('', transform(sequence(1, 1000), n -> sha2(cast(id * 1000 + n as string), 512))) AS many",
        "repeat(sha2(cast(id as string), 512), IF(id % 8 = 0, 80000, 1)) AS long",
    )
    save(frame, target, PAGE_OF_A_ROW)
    [file] = data_files(target)
    return file


def test_pages_of_any_length_are_opened_and_read_once(spark: SparkSession, target: str) -> None:
    path = large(spark, target)
    file = Anatomy(path.read_bytes())
    pages = file.named("long").of(Kind.DATA_PAGE)
    assert max(page.size for page in pages) > 8 * 2**20
    found, opened = verify(spark, target)
    assert (found, opened.modules) == ({}, tagged(file))
    # The tail is read before anything is known of the chunks, including pages that lie in it.
    assert opened.bytes < len(file.content) + 2**17
    for page in (pages[8], pages[9], pages[-1]):
        bend.replace(path, forge.flip(file.content, place(page, "tag")))
        bent, _ = verify(spark, target)
        assert bent == {path.name: [Found(0, "long", page.page, "data page", "PME_NOT_AUTHENTIC")]}


def test_indexes_far_from_the_end_are_read_at_once(spark: SparkSession, target: str) -> None:
    save(spark.range(0, 3000, 1, 1).selectExpr("sha2(cast(id as string), 256) AS text"), target, PAGE_OF_A_ROW)
    [path] = data_files(target)
    file = Anatomy(path.read_bytes())
    [index] = [module for module in file.modules if module.kind == Kind.COLUMN_INDEX]
    assert len(file.content) - index.offset > 2**16
    found, opened = verify(spark, target)
    assert (found, opened.modules) == ({}, tagged(file))
    bend.replace(path, forge.flip(file.content, place(index, "tag")))
    assert verify(spark, target)[0] == {path.name: [Found(0, "text", None, "column index", "PME_NOT_AUTHENTIC")]}


def test_a_sample_of_pages_opens_all_headers_and_some_pages(spark: SparkSession, target: str) -> None:
    path = large(spark, target)
    file = Anatomy(path.read_bytes())
    data = [module for module in file.modules if module.kind == Kind.DATA_PAGE]
    sample = pme.Sample(pages=0.2, seed=1)
    found, opened = verify(spark, target, sample=sample)
    assert (found, opened.files, opened.skipped_files) == ({}, 1, 0)
    assert len(data) / 2 < opened.skipped_pages < len(data)
    assert opened.modules == tagged(file) - opened.skipped_pages
    assert opened.bytes < len(file.content)
    bent = file.content
    for module in file.modules:
        if module.kind in (Kind.DATA_PAGE, Kind.DATA_PAGE_HEADER):
            bent = forge.flip(bent, place(module, "tag"))
    bend.replace(path, bent)
    rows = verify(spark, target, sample=sample)[0][path.name]
    assert sum(row.module == "data page header" for row in rows) == len(data)
    assert sum(row.module == "data page" for row in rows) == len(data) - opened.skipped_pages
