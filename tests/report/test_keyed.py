"""The contents of a report with keys: what opens, which columns a key protects, and each problem once."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.report.made import report
from tests.report.settings import KEYS, KMS, SMALL_PAGES
from tests.support import tables
from tests.support.canary import data_files
from tests.support.expect import refused, save
from tests.support.files.damaged import cut, damage
from tests.support.frames import people
from tests.support.kms.denied import Guarded

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.report.pages import Page


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


def test_each_finding_of_verification_is_listed_once(spark: SparkSession, page: Page, table: Path) -> None:
    found = pme.verify(spark, table, options=KMS).collect()
    all_rows = page.table("Findings").rows[1:]
    rows = [row for row in all_rows if row[4] == "verification, with keys"]
    assert sorted(row[2] for row in rows) == sorted(row.condition for row in found)
    assert len(rows) == 3
    [damaged] = [row for row in rows if row[2] == "PME_NOT_AUTHENTIC"]
    assert damaged[1] == "row group 0, column id, data page 0"
    [plain] = [row for row in rows if row[2] == "PME_PLAINTEXT_FILE"]
    assert plain[0].startswith("country=x/part-")
    assert [row[1] for row in all_rows if row not in rows] == [OF_FOOTER_KEY, "column name, ssn", "column salary"]
    assert "Verification has 3 findings in 3 files" in page.text


def test_the_report_shows_what_was_opened(spark: SparkSession, page: Page, table: Path) -> None:
    opened = pme.verify(spark, table, options=KMS).opened
    assert f"{opened.files} files checked with keys, {opened.modules:,} modules opened" in page.text


def test_an_undamaged_table_is_good(spark: SparkSession, target: str, tmp_path: Path) -> None:
    save(people(spark).coalesce(1), target, KMS | KEYS)
    page = report(spark, target, tmp_path / "r.html")
    marks = {item[0] for item in page.items if item[0] in "✓!?"}
    assert marks == {"✓"}
    assert "There are no findings." in page.text


def test_a_sample_is_described_as_a_sample(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    page = report(spark, str(table), tmp_path / "r.html", sample=pme.Sample(files=0.3, seed=4))
    assert "This was a sample (seed 4) that left out" in page.text
    assert "Files and pages outside the sample: they were not verified." in page.text
    assert "in the sample" in page.text


def test_plaintext_columns_of_encrypted_footers_are_found(spark: SparkSession, target: str, tmp_path: Path) -> None:
    save(people(spark).coalesce(1), target, KMS | KEYS | {"unlistedColumns": "plaintext"})
    page = report(spark, target, tmp_path / "r.html")
    assert "columns are in plaintext in encrypted files:" in page.text
    assert any("address.street" in item for item in page.items)


def test_keys_that_are_refused_are_findings(spark: SparkSession, target: str, tmp_path: Path) -> None:
    tables.write(people(spark).coalesce(1), target, pme.PythonKms(tables.Remembering()))
    page = report(spark, target, tmp_path / "r.html", kms=pme.PythonKms(Guarded("pii")), options=None)
    conditions = {row[2] for row in page.table("Findings").rows[1:]}
    assert conditions == {"PME_KEY_DENIED"}
    assert page.table("Master keys").row("pii")["Size"] == "not visible"


def test_one_file_can_be_reported(spark: SparkSession, target: str, tmp_path: Path) -> None:
    save(people(spark).coalesce(1), target, KMS | KEYS)
    [path] = data_files(target)
    page = report(spark, str(path), tmp_path / "r.html")
    assert "1 file, " in page.text


def test_wrong_settings_leave_no_report(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    with refused("PME_BAD_OPTION", "sample"):
        pme.report(table, tmp_path / "r.html", spark=spark, options=KMS, sample=pme.Sample(files=0))
    assert list(tmp_path.iterdir()) == []


def test_a_seal_that_verification_checked_is_not_called_unknown(
    spark: SparkSession, target: str, tmp_path: Path
) -> None:
    save(people(spark).coalesce(1), target, KMS | KEYS)
    pme.seal(spark, target, options=KMS, expect="unsealed", progress=False)
    page = report(spark, target, tmp_path / "r.html")
    assert "? Not known" not in " ".join(page.items)
    assert "Verification checked the seal of this table (version 1, HMAC-SHA256)" in " ".join(page.items)
    off = " ".join(report(spark, target, tmp_path / "off.html", options=KMS | {"SnapShot": "off"}).items)
    assert "? Not known 1 snapshot with a seal that inspection does not check" in off
    elsewhere = str(tmp_path / "elsewhere")
    pme.seal(spark, target, options=KMS, location=elsewhere, expect="unsealed", progress=False)
    for name, other in {"snapshot": "1", "snapshotLocation": elsewhere}.items():
        told = report(spark, target, tmp_path / f"{name}.html", options=KMS | {name: other})
        assert "a seal that inspection does not check" in " ".join(told.items), "not the one that it shows"


def test_files_that_have_other_columns_are_not_called_the_same(
    spark: SparkSession, target: str, tmp_path: Path
) -> None:
    save(people(spark).coalesce(1), target, KMS | KEYS)
    fewer = people(spark).drop("salary").coalesce(1)
    fewer.write.format("pme-parquet").options(**KMS, footerKey="footer", columnKeys="pii: ssn").mode("append").save(
        target
    )
    page = report(spark, target, tmp_path / "r.html")
    assert "All files are protected in the same way" not in page.text
