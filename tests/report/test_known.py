"""The contents of a report with keys, from results of verification and key usage that the test makes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import Row

from pme_parquet._report.facts import Keyed
from pme_parquet._report.protection import Alike, Problem, Protection
from tests.report.made import KMS, Known, alike, checked, use
from tests.support.files.handmade import content, manifest, put

if TYPE_CHECKING:
    from pathlib import Path

    from tests.report.pages import Page

GOOD = Known()


def summary(page: Page) -> list[str]:
    return [item for item in page.items if item[0] in "✓!?•"]


def test_a_table_without_a_problem_is_good(tmp_path: Path) -> None:
    page = checked(GOOD.write(tmp_path))
    assert {item[0] for item in page.items if item[0] in "✓!?"} == {"✓"}
    assert "There are no findings." in page.text
    assert "All files are protected in the same way" in page.text


def test_a_policy_is_said_to_be_followed_only_without_findings(tmp_path: Path) -> None:
    bound = replace(GOOD, opened=replace(GOOD.opened, policies=("policy 'company' 7 (/p)",)))
    drift = Problem("a", "column ssn", "PME_KEY_METADATA", "it has another key.", "verification")
    follows = "Every Parquet file that was opened follows policy 'company' 7 (/p)."
    assert any(follows in one for one in summary(checked(bound.write(tmp_path))))
    shown = " ".join(summary(checked(replace(bound, problems=(drift,)).write(tmp_path))))
    assert follows not in shown
    assert "include each file that does not follow policy 'company' 7 (/p)." in shown


def test_keys_of_the_usage_have_a_row_with_their_columns(tmp_path: Path) -> None:
    keys = checked(GOOD.write(tmp_path)).table("Master keys")
    assert keys.row("pii") == {
        "Master key": "pii",
        "Protects": "columns",
        "Files": "2",
        "Columns": "name, ssn",
        "Size": "2.0 KiB",
        "Data keys": "wrapped twice, in the file",
        "Key lengths": "data keys 128 bits, key-encryption keys of 256 bits",
        "Unreadable without it": "these columns in 2 files",
    }
    assert keys.row("footer")["Unreadable without it"] == "all of 2 files"


def test_key_lengths_and_the_kms_are_shown(tmp_path: Path) -> None:
    protection = replace(GOOD.protection, master_key_bits={"footer": 256})
    uses = tuple(replace(one, data_key_bits=(256,)) for one in GOOD.uses)
    shown = " ".join(summary(checked(replace(GOOD, protection=protection, uses=uses).write(tmp_path))))
    assert "Master keys are in: a KMS." in shown
    assert "Data keys: 128 or 256 bits; key-encryption keys: 256 bits; master keys: 256 bits." in shown
    shown = " ".join(summary(checked(GOOD.write(tmp_path))))
    assert "Data keys: 128 bits; key-encryption keys: 256 bits; master keys: not visible." in shown


def test_a_column_without_a_key_is_found_once(tmp_path: Path) -> None:
    groups = (alike("a", id="footer", street=None), alike("b", id="footer", street=None))
    page = checked(replace(GOOD, protection=replace(GOOD.protection, groups=groups)).write(tmp_path))
    assert summary(page)[0].startswith("! Attention 1 column is in plaintext in encrypted files: street.")
    assert any(item.startswith("Plaintext columns in encrypted files") and "street" in item for item in page.items)
    assert [row[:2] for row in page.table("Findings").rows[1:]] == [["a", "column street"]]
    assert not any(item.startswith("✓ Good Every file is encrypted") for item in page.items)


def test_a_key_that_is_refused_is_a_finding_and_hides_its_size(tmp_path: Path) -> None:
    refused = Problem("a", "column name", "PME_KEY_DENIED", "access to key 'pii' is denied.", "verification", "name")
    hidden = replace(use("pii"), bytes=None, rows=None, problems=("PME_KEY_DENIED",))
    page = checked(replace(GOOD, problems=(refused,), uses=(GOOD.uses[0], hidden)).write(tmp_path))
    [row] = page.table("Findings").rows[1:]
    assert row[:3] == ["a", "column name", "PME_KEY_DENIED"]
    assert page.table("Master keys").row("pii")["Size"] == "not visible"
    assert "Verification has 1 finding in 1 file" in page.text


def test_files_whose_columns_are_not_known_are_not_called_good(tmp_path: Path) -> None:
    unknown = Alike(1, 4096, "b", "unknown", ())
    protection = replace(GOOD.protection, groups=(*GOOD.protection.groups, unknown))
    found = summary(checked(replace(GOOD, protection=protection).write(tmp_path)))
    assert any("? Not known Every file is encrypted, but the columns of 1 file could not be" in item for item in found)
    assert not any(item.startswith("✓ Good Every file is encrypted") for item in found)


@pytest.mark.parametrize(
    ("seal_checked", "words"),
    [
        (False, "? Not known 1 snapshot with a seal that inspection does not check: this table (version 1, Ed25519)"),
        (True, "• Note Verification checked the seal of this table (version 1, Ed25519)"),
    ],
)
def test_a_seal_is_called_checked_only_if_verification_checked_it(
    tmp_path: Path, *, seal_checked: bool, words: str
) -> None:
    put(tmp_path / "table" / "_pme_snapshots", 1, manifest(content()))
    page = checked(replace(GOOD, checked=seal_checked).write(tmp_path))
    assert any(item.startswith(words) for item in summary(page))
    assert any("? Not known" in item for item in summary(page)) is not seal_checked
    assert ("Verification checked the seal" in page.text) is seal_checked


def test_files_that_have_other_columns_are_not_called_the_same(tmp_path: Path) -> None:
    groups = (*GOOD.protection.groups, alike("b", id="footer", name="pii", ssn="pii"))
    page = checked(replace(GOOD, protection=replace(GOOD.protection, groups=groups)).write(tmp_path))
    assert "All files are protected in the same way" not in page.text
    assert len(page.table("Files by protection of their columns").rows) == 1 + 2


@pytest.mark.parametrize(("key", "shown"), [("footer", "footer key footer"), (None, "readable")])
def test_a_column_under_several_keys_is_a_difference(tmp_path: Path, key: str | None, shown: str) -> None:
    protection = replace(GOOD.protection, groups=(alike("a", salary="pii"), alike("b", salary=key)))
    page = checked(replace(GOOD, protection=protection).write(tmp_path))
    assert "in the same way" not in page.text
    way = shown if key is None else f"encrypted with {shown}"
    assert f"Column salary is {way} in 1 file, encrypted with key pii in 1 file." in page.text
    assert "! Attention Files are protected in different ways" in " ".join(summary(page))


@pytest.mark.parametrize(("case_sensitive", "findings"), [(False, 1), (True, 2)])
def test_letter_case_hides_no_readable_column_and_repeats_none(
    tmp_path: Path, *, case_sensitive: bool, findings: int
) -> None:
    message = "it is not encrypted in 1 file, but is encrypted in 1 file."
    shown = Problem("b", "column SALARY", "PME_PLAINTEXT_FILE", message, "verification", "SALARY")
    protection = Protection((alike("a", salary="pii"), alike("b", salary=None)), None, {}, case_sensitive)
    page = checked(replace(GOOD, problems=(shown,), protection=protection).write(tmp_path))
    assert len(page.table("Findings").rows[1:]) == findings


@pytest.mark.parametrize(
    ("session", "options", "checks"),
    [
        ({}, {}, True),
        ({}, {"snapshot": "require", "snapshotLocation": " "}, True),
        ({}, {"SnapShot": "off"}, False),
        ({}, {"snapshot": "1"}, False),
        ({}, {"snapshotLocation": "elsewhere"}, False),
        ({"spark.datasource.pme-parquet.snapshot": "off"}, {}, False),
        ({"spark.datasource.pme-parquet.aadPrefix": "p"}, {}, True),
    ],
)
def test_only_a_read_of_the_newest_snapshot_here_checks_the_seal_that_the_report_shows(
    monkeypatch: pytest.MonkeyPatch, session: dict[str, str], options: dict[str, str], *, checks: bool
) -> None:
    monkeypatch.setattr("pme_parquet._operations.operation.method_of", lambda *_: None)
    rows = [Row(key=name, value=value) for name, value in session.items()]
    spark: Any = SimpleNamespace(sql={"SET": SimpleNamespace(collect=lambda: rows)}.__getitem__)
    assert Keyed(spark, "people", None, KMS | options, None).checks_seals() is checks
