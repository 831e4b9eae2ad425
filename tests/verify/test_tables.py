"""Problems of a table's files and keys are found file by file; what a sample leaves out is reported."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support import tables
from tests.support.canary import data_files
from tests.support.expect import assert_no_secret, assert_remedy, refused, save
from tests.support.files import bend, forge
from tests.support.files.anatomy import Anatomy, Kind
from tests.support.files.damaged import cut, damage
from tests.support.files.regions import place
from tests.support.findings import Found, tagged, verify
from tests.support.frames import people
from tests.support.interop.modes import CTR
from tests.support.kms.counting_client import Client
from tests.support.kms.denied import Guarded
from tests.support.session import TEST_KMS
from tests.support.sql import call
from tests.support.tables import COLUMNS, Remembering

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

FOOTER = (None, None, None, "footer")


def write(spark: SparkSession, path: str, files: int = 1, **options: str) -> list[Path]:
    """Write people to this many files and return them."""
    keys = {"kms": TEST_KMS, "footerKey": "footer", "columnKeys": "pii: name, ssn; pay: salary"}
    save(people(spark, count=10 * files).repartition(files), path, keys | options)
    return data_files(path)


def under_python(spark: SparkSession, target: str, *partitions: str) -> pme.PythonKms:
    """Write people under a KMS in this process and return it."""
    kms = pme.PythonKms(Remembering())
    tables.write(people(spark), target, kms, *partitions)
    return kms


def test_a_page_that_fails_the_file_systems_checksum_is_one_finding_and_the_file_stays(
    spark: SparkSession, target: str
) -> None:
    # Long enough that it is not all read with the footer.
    save(spark.range(400_000).coalesce(1), target, {"kms": TEST_KMS, "uniformKey": "footer"})
    [path] = data_files(target)
    file = Anatomy(path.read_bytes())
    page = file.named("id").of(Kind.DATA_PAGE)[1]
    # Far from other modules: a checksum covers several that are close together.
    path.write_bytes(forge.flip(file.content, page.offset + page.size // 2))
    checksums = path.with_name(f".{path.name}.crc")
    assert checksums.exists()
    found, opened = verify(spark, target)
    assert found == {path.name: [Found(0, "id", 1, "data page", "PME_DAMAGED_FILE")]}
    assert opened.modules == len(file.modules) - 1
    assert path.exists()
    assert checksums.exists()


def test_every_problem_of_a_table_is_found(spark: SparkSession, target: str) -> None:
    damaged, truncated, swapped, replaced, *whole = write(spark, target, files=6)
    damage(damaged)
    cut(truncated)
    people(spark).coalesce(1).write.parquet(f"{target}/plaintext")
    [plaintext] = data_files(f"{target}/plaintext")
    bend.replace(replaced, plaintext.read_bytes())
    content = bytearray(swapped.read_bytes())
    content[-5] ^= 0x40
    bend.replace(swapped, bytes(content))
    found, opened = verify(spark, target)
    assert found == {
        damaged.name: [Found(0, "id", 0, "data page", "PME_NOT_AUTHENTIC")],
        truncated.name: [Found(*FOOTER, "PME_DAMAGED_FILE")],
        swapped.name: [Found(*FOOTER, "PME_DAMAGED_FILE")],
        replaced.name: [Found(*FOOTER, "PME_PLAINTEXT_FILE")],
        plaintext.name: [Found(*FOOTER, "PME_PLAINTEXT_FILE")],
    }
    assert opened.files == len(whole) + len(found)


def test_messages_are_those_of_errors(spark: SparkSession, target: str) -> None:
    damaged, truncated = write(spark, target, files=2)
    damage(damaged)
    cut(truncated)
    rows = pme.verify(spark, target, options={"kms": TEST_KMS}).collect()
    assert len(rows) == len((damaged, truncated))
    for row in rows:
        assert_remedy(row.message)
        assert_no_secret(row.message)


def test_allowed_plaintext_files_are_not_findings(spark: SparkSession, target: str) -> None:
    people(spark).coalesce(1).write.parquet(target)
    found, opened = verify(spark, target, options={"kms": TEST_KMS, "plaintextFiles": "allow"})
    assert (found, opened.files, opened.modules) == ({}, 1, 0)


def test_columns_under_other_keys_than_an_encryption_names_are_found(spark: SparkSession, target: str) -> None:
    [file] = write(spark, target, columnKeys="pay: salary")
    named = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys=COLUMNS)
    rows = pme.verify(spark, target, kms=named).collect()
    assert {(row.file.rpartition("/")[2], row.condition, row.column) for row in rows} == {
        (file.name, "PME_KEY_METADATA", column) for column in COLUMNS["pii"]
    }
    assert all("the footer's key, 'footer', but columnKeys requires key 'pii'" in row.message for row in rows)


def test_a_missing_file_of_key_material_is_found(spark: SparkSession, target: str) -> None:
    first, *others = write(spark, target, files=3, keyMaterial="external")
    assert verify(spark, target)[0] == {}
    tables.material(first).unlink()
    found, opened = verify(spark, target)
    assert found == {first.name: [Found(*FOOTER, "PME_KEY_METADATA")]}
    assert opened.modules == sum(verify(spark, path)[1].modules for path in others)


@pytest.mark.parametrize(
    ("stored", "prefix", "condition"),
    [
        ("true", "another", "PME_AAD_PREFIX"),
        ("false", "another", "PME_NOT_AUTHENTIC"),
        ("false", None, "PME_AAD_PREFIX"),
        ("true", "orders", None),
        ("false", "orders", None),
        ("true", None, None),
    ],
)
def test_another_aad_prefix_is_found(
    spark: SparkSession, target: str, stored: str, prefix: str | None, condition: str | None
) -> None:
    [file] = write(spark, target, aadPrefix="orders", storeAadPrefix=stored)
    given = {"kms": TEST_KMS} | ({"aadPrefix": prefix} if prefix else {})
    found, _ = verify(spark, target, options=given)
    assert found == ({file.name: [Found(*FOOTER, condition)]} if condition else {})


def test_pages_without_a_tag_are_refused_unless_they_are_accepted(spark: SparkSession, target: str) -> None:
    [file] = write(spark, target, algorithm=CTR)
    assert verify(spark, target)[0] == {file.name: [Found(*FOOTER, "PME_ALGORITHM")]}
    found, opened = verify(spark, target, options={"kms": TEST_KMS, "algorithm": CTR})
    assert found == {}
    assert opened.untagged_pages > 0
    assert "have no authentication tag: only their lengths" in str(opened)


@pytest.mark.parametrize(
    ("client", "condition"),
    [(Guarded("pii"), "PME_KEY_DENIED"), (Remembering(lacks=["pii"]), "PME_KEY_NOT_FOUND")],
    ids=["denied", "not found"],
)
def test_an_unavailable_key_is_found_once_for_each_column(
    spark: SparkSession, target: str, client: Client, condition: str
) -> None:
    kms = under_python(spark, target)
    found, opened = verify(spark, target, kms=pme.PythonKms(client), options={})
    columns = [Found(None, column, None, None, condition) for column in COLUMNS["pii"]]
    assert found == {path.name: columns for path in data_files(target)}
    assert 0 < opened.modules < verify(spark, target, kms=kms, options={})[1].modules


def test_a_footer_key_that_is_denied_is_one_finding(spark: SparkSession, target: str) -> None:
    under_python(spark, target)
    found, opened = verify(spark, target, kms=pme.PythonKms(Guarded("footer")), options={})
    assert found == {path.name: [Found(*FOOTER, "PME_KEY_DENIED")] for path in data_files(target)}
    assert opened.modules == 0


def test_the_kms_is_called_once_for_each_key(spark: SparkSession, target: str) -> None:
    under_python(spark, target, "country")
    client = Client()
    found, _ = verify(spark, target, kms=pme.PythonKms(client), options={})
    assert found == {}
    assert client.count("unwrap") == {"footer": 1, "pii": 1, "pay": 1}


def test_what_a_session_has_read_is_opened_again(spark: SparkSession, target: str) -> None:
    [file] = write(spark, target)
    spark.read.format("pme-parquet").option("kms", TEST_KMS).load(target).collect()
    assert verify(spark, target)[0] == {}
    before = file.stat()
    anatomy = Anatomy(file.read_bytes())
    bend.replace(file, forge.flip(anatomy.content, place(anatomy.footer_module, "ciphertext")))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert verify(spark, target)[0] == {file.name: [Found(*FOOTER, "PME_NOT_AUTHENTIC")]}


def test_a_failed_checksum_of_the_storage_is_damage(spark: SparkSession, target: str) -> None:
    [file] = write(spark, target)
    # Hadoop's checksum next to it stays that of the old bytes; so small a file is read at once.
    file.write_bytes(forge.flip(file.read_bytes(), 100))
    assert verify(spark, target)[0] == {file.name: [Found(*FOOTER, "PME_DAMAGED_FILE")]}


def test_a_sample_of_files_is_the_same_in_every_run(spark: SparkSession, target: str) -> None:
    paths = write(spark, target, files=8)
    for path in paths:
        damage(path)
    sample = pme.Sample(files=0.25, seed=7)
    runs = [verify(spark, target, sample=sample) for _ in range(2)]
    found, opened = runs[0]
    assert runs[1] == runs[0]
    assert (len(found), opened.files, opened.skipped_files, opened.sample) == (2, 2, 6, sample)
    assert "the sample (files=0.25, pages=1.0, seed=7) left out 6 files and 0 pages" in str(opened)
    seeds = {tuple(verify(spark, target, sample=pme.Sample(files=0.25, seed=seed))[0]) for seed in range(6)}
    assert len(seeds) > 1


@pytest.mark.parametrize("fraction", [0, -0.5, 1.01, float("nan")])
def test_a_sample_is_a_fraction(spark: SparkSession, target: str, fraction: float) -> None:
    for sample in (pme.Sample(files=fraction), pme.Sample(pages=fraction)):
        with refused("PME_BAD_OPTION", "sample", "a fraction above 0"):
            pme.verify(spark, target, options={"kms": TEST_KMS}, sample=sample)


def test_rows_are_those_of_the_function_in_sql(spark: SparkSession, target: str) -> None:
    first, second = write(spark, target, files=2)
    damage(first)
    cut(second)
    spark.read.format("pme-parquet").schema("a int").load(target)
    options = {"kms": TEST_KMS}
    rows = spark.sql(f"SELECT * FROM {call('pme_verify', target, options=options)}").collect()
    assert rows == pme.verify(spark, target, options=options).collect()
    part = call("pme_verify", target, options=options).removesuffix(")")
    assert spark.sql(f"SELECT * FROM {part}, files => 0.5, pages => 1, seed => 3)").count() == 1
    with refused("PME_BAD_OPTION", "pme_verify", "files"):
        spark.sql(f"SELECT * FROM {part}, files => 'many')")


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


def test_a_page_that_fails_the_checksum_of_the_storage_hides_no_other(spark: SparkSession, target: str) -> None:
    path = large(spark, target)
    file = Anatomy(path.read_bytes())
    pages = [file.named("many").of(Kind.DATA_PAGE)[5], file.named("long").of(Kind.DATA_PAGE)[8]]
    content = file.content
    for page in pages:
        content = forge.flip(content, page.offset + page.size // 2)
    path.write_bytes(content)
    found, _ = verify(spark, target)
    assert found == {
        path.name: [
            Found(0, "many", 5, "data page", "PME_DAMAGED_FILE"),
            Found(0, "long", 8, "data page", "PME_DAMAGED_FILE"),
        ]
    }


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


def test_over_spark_connect_it_says_that_it_cannot(target: str) -> None:
    session: Any = object()
    with pytest.raises(pme.UnsupportedError, match=r"pme\.verify"):
        pme.verify(session, target)
