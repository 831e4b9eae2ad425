"""The contents of a report with keys: what opens, which columns a key protects, and each problem once."""

from __future__ import annotations

import base64
import shutil
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.report.made import KEYS, KMS, SMALL_PAGES, report
from tests.support import tables
from tests.support.canary import data_files
from tests.support.expect import refused, save
from tests.support.files.forge import cut, damage
from tests.support.frames import people
from tests.support.kms.clients import Guarded, Remembering
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.report.pages import Page
    from tests.support.source import Conf


OF_FOOTER_KEY = "column address.street, address.zip, country, id, scores.key, scores.value.score, tags.element"


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table with a damaged, a cut and a plaintext file, and one under another key."""
    root = tmp_path_factory.mktemp("report") / "people"
    save(people(spark, count=300).repartition(5), str(root), KMS | KEYS | SMALL_PAGES)
    damaged, truncated, *_ = data_files(root)
    damage(damaged)
    cut(truncated)
    other = root.with_name("other")
    save(people(spark).coalesce(1), str(other), KMS | {"uniformKey": "other", "dataKeyBits": "256"})
    people(spark).coalesce(1).write.parquet(f"{root}/country=x")
    for path in data_files(other):
        shutil.copy(path, root / f"late-{path.name}")
    return root


@pytest.fixture(scope="module")
def page(spark: SparkSession, table: Path) -> Page:
    return report(spark, str(table), table.with_name("report.html"))


def test_keys_are_listed_with_the_columns_that_they_protect(page: Page) -> None:
    keys = page.table("Master keys")
    assert keys.row("pii")["Columns"] == "name, ssn"
    assert keys.row("pay")["Columns"] == "salary"
    assert keys.row("other")["Key lengths"].startswith("data keys 256 bits")
    assert keys.row("other")["Unreadable without it"] == "all of 1 file"
    assert "B" in keys.row("pii")["Size"]
    assert "not visible" not in (keys.row("footer")["Columns"], keys.row("footer")["Size"])
    assert f"Master keys are in: KMS client {TEST_KMS}." in page.text
    assert "Data keys: 128 or 256 bits; key-encryption keys: 128 bits; master keys: not visible." in page.text


def test_each_finding_of_verification_is_listed_once(spark: SparkSession, page: Page, table: Path) -> None:
    verified = pme.verify(spark, table, options=KMS)
    found, opened = verified.collect(), verified.opened
    all_rows = page.table("Findings").rows[1:]
    rows = [row for row in all_rows if row[4] == "verification, with keys"]
    assert sorted(row[2] for row in rows) == sorted(row.condition for row in found)
    assert len(rows) == 3
    [damaged] = [row for row in rows if row[2] == "PME_NOT_AUTHENTIC"]
    assert damaged[1] == "row group 0, column id, data page 0"
    [plain] = [row for row in rows if row[2] == "PME_PLAINTEXT_FILE"]
    assert plain[0].startswith("country=x/part-")
    assert [row[1] for row in all_rows if row not in rows] == [OF_FOOTER_KEY, "column name, ssn", "column salary"]
    checked = f"{opened.files} files checked with keys, {opened.modules:,} modules opened"
    assert f"Verification has 3 findings in 3 files; {checked}" in page.text


def test_a_sample_is_described_as_a_sample(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    page = report(spark, str(table), tmp_path / "r.html", sample=pme.Sample(files=0.3, seed=4))
    assert "This was a sample (seed 4) that left out" in page.text
    assert "Files and pages outside the sample: they were not verified." in page.text
    assert "in the sample" in page.text


def test_a_refused_key_is_the_only_finding_of_a_file(spark: SparkSession, target: str, tmp_path: Path) -> None:
    tables.write(people(spark).coalesce(1), target, pme.PythonKms(Remembering()))
    [file] = data_files(target)
    for denied, columns_known in (("pii", True), ("footer", False)):
        page = report(spark, str(file), tmp_path / "r.html", kms=pme.PythonKms(Guarded(denied)), options=None)
        assert {row[2] for row in page.table("Findings").rows[1:]} == {"PME_KEY_DENIED"}
        assert page.table("Master keys").row(denied)["Size"] == "not visible"
        # An open footer names the key of each column, whoever may use that key.
        assert any(item.startswith("✓ Good Every file is encrypted") for item in page.items) is columns_known
        assert any("columns of 1 file could not be checked" in item for item in page.items) is not columns_known


def test_a_sample_of_nothing_leaves_no_page(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    with refused("PME_BAD_OPTION", "a fraction above 0"):
        pme.report(table, tmp_path / "r.html", spark=spark, options=KMS, sample=pme.Sample(files=0))
    assert list(tmp_path.iterdir()) == []


def test_an_undamaged_table_whose_seal_was_checked_is_good(
    spark: SparkSession, target: str, tmp_path: Path, conf: Conf
) -> None:
    static = {"kms": "static", "kms.static.keys": "conf:pme.test.report"}
    with conf({"pme.test.report": f"long={base64.b64encode(bytes(32)).decode()}"}):
        save(people(spark).coalesce(1), target, static | {"uniformKey": "long", "dataKeyBits": "256"})
        pme.seal(spark, target, options=static, expect="unsealed", progress=False)
        page = report(spark, target, tmp_path / "r.html", options=static)
    assert {item[0] for item in page.items if item[0] in "✓!?"} == {"✓"}
    assert "There are no findings." in page.text
    assert "Verification checked the seal of this table (version 1, HMAC-SHA256)" in " ".join(page.items)
    assert "Data keys: 256 bits; key-encryption keys: 128 bits; master keys: 256 bits." in page.text
