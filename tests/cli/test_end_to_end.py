"""Each command once with the connector: what only a real Spark shows."""

from __future__ import annotations

import re
import shutil
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyspark import InheritableThread

import pme_parquet as pme
from pme_parquet._operations.operation import watched
from pme_parquet._report.facts import KeyUse
from tests.cli.conftest import FILES
from tests.support.canary import data_files
from tests.support.commands import Finding, keystore, run
from tests.support.session import QUICK, TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.all_rows, pytest.mark.newest]
LINE = re.compile(r"([a-z ]+): (\d+) of (\d+) files(?:, ([\d.]+ \w+) of ([\d.]+ \w+))?(?:, .* left)?")


def assert_progress(err: str, step: str, *, sizes: bool = True) -> None:
    """Check that the counts of a step reach the total: a failed file counts, too."""
    found = LINE.fullmatch(err.splitlines()[-1])
    assert found, err
    assert found.groups()[:3] == (step, str(FILES), str(FILES))
    assert found[4] == found[5]
    assert bool(found[4]) is sizes


@pytest.fixture
def table(encrypted: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may change, without the checksums of Hadoop's local file system."""
    return shutil.copytree(encrypted, tmp_path / "table", ignore=shutil.ignore_patterns(".*.crc"))


def test_encrypt_prints_what_it_wrote(people: Path, kms: list[str], tmp_path: Path) -> None:
    done = run("encrypt", people, tmp_path / "new", "--uniform-key", "footer", *kms, "--json")
    assert done.code == 0, done.err
    written = done.document
    assert (written["target"], written["files"], written["rows"]) == (str(tmp_path / "new"), FILES, FILES * 100)
    assert {file.footer for file in pme.inspect(tmp_path / "new").files} == {"encrypted"}


def test_rekey_and_decrypt_restore_the_table(encrypted: Path, people: Path, kms: list[str], tmp_path: Path) -> None:
    rekeyed = run("rekey", encrypted, tmp_path / "rekeyed", "--uniform-key", "pay", "-o", "plaintextFooter=true", *kms)
    assert (rekeyed.code, rekeyed.out.startswith(f"{tmp_path / 'rekeyed'}: {FILES} files, 300 rows, ")) == (0, True)
    assert_progress(rekeyed.err, "copying")
    assert len(rekeyed.out.splitlines()) == 1
    assert {file.footer for file in pme.inspect(tmp_path / "rekeyed").files} == {"signed"}
    opened = run("decrypt", tmp_path / "rekeyed", tmp_path / "open", "--write-plaintext", *kms, "--json")
    assert (opened.code, opened.document["rows"]) == (0, FILES * 100)
    assert pq.read_table(tmp_path / "open").sort_by("id") == pq.read_table(people).sort_by("id")


def test_files_are_replaced_in_place_and_a_second_run_does_not_change_them(
    people: Path, kms: list[str], tmp_path: Path
) -> None:
    table = shutil.copytree(people, tmp_path / "table")
    arguments: list[str | Path] = ["encrypt", table, "--in-place", "--footer-key", "footer", *kms, "--json"]
    first, second = run(*arguments), run(*arguments)
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert_progress(first.err, "encrypting")
    assert (first.document["files"], first.document["already"]) == (FILES, 0)
    assert (second.document["files"], second.document["already"]) == (0, FILES)
    assert {file.footer for file in pme.inspect(table).files} == {"encrypted"}


def test_verify_finds_nothing_in_an_undamaged_table_and_keeps_the_session(
    spark: SparkSession, encrypted: Path, kms: list[str]
) -> None:
    done = run("verify", encrypted, *kms)
    assert done.code == 0
    assert done.out.startswith(f"{encrypted}: {FILES} files, ")
    assert done.out.endswith("; no findings\n")
    assert spark.range(1).count() == 1


def test_verify_prints_a_finding_and_exits_with_1(table: Path, kms: list[str]) -> None:
    data_files(table)[0].write_bytes(b"PAR1 and no more PARE")
    done = run("verify", table, *kms, "--json")
    assert done.code == 1
    [finding] = done.document["findings"]
    assert finding["condition"] == "PME_DAMAGED_FILE"
    assert set(finding) == {one.name for one in fields(Finding)}
    assert done.document["opened"]["files"] == FILES
    assert_progress(done.err, "verifying")


def test_rotate_does_what_its_dry_run_shows(table: Path, kms: list[str]) -> None:
    arguments: list[str | Path] = ["rotate", table, "--master-key", "footer=pay", "--json", *kms]
    foreseen = run(*arguments, "--dry-run")
    assert (foreseen.code, foreseen.document["dry_run"], foreseen.document["counts"]) == (0, True, {"rotated": FILES})
    assert {file.footer_key.master_key for file in pme.inspect(table).files if file.footer_key} == {"footer"}
    done = run(*arguments)
    assert done.document["counts"] == {"rotated": FILES}
    assert_progress(done.err, "writing keys")
    assert {file.footer_key.master_key for file in pme.inspect(table).files if file.footer_key} == {"pay"}


def test_erase_destroys_only_with_yes(table: Path, keys: pme.Keystore, kms: list[str], tmp_path: Path) -> None:
    own = pme.Keystore(shutil.copy(keys.path, tmp_path / "own.p12"), keys.password)
    plan = run("erase", table, "footer", *keystore(own), "--json")
    assert (plan.code, plan.document["state"], plan.document["totals"]["rows"]) == (0, "planned", FILES * 100)
    done = run("erase", table, "footer", *keystore(own), "--yes", "--json")
    assert (done.code, done.document["evidence"]["files_that_fail_to_open"]) == (0, FILES), done.err
    assert run("verify", table, *keystore(own)).code == 3
    assert run("verify", table, *kms).code == 0


def test_key_usage_shows_what_would_be_lost(encrypted: Path, kms: list[str]) -> None:
    done = run("key-usage", encrypted, *kms, "--json")
    keys = {row["master_key"]: row for row in done.document["keys"]}
    assert keys["footer"]["unreadable_files"] == FILES
    assert keys["pii"]["columns"] == ["name"]
    assert set(keys["pii"]) == {one.name for one in fields(KeyUse)}
    assert_progress(done.err, "looking into footers", sizes=False)


def test_plan_shows_which_column_gets_which_key_and_writes_nothing(people: Path, kms: list[str]) -> None:
    before = sorted(people.parent.iterdir())
    done = run("plan", people, "--footer-key", "footer", "--column-key", "pii=name", *kms, "--json")
    assert done.code == 0, done.err
    assert {column["name"]: column["key"] for column in done.document["columns"]} == {
        "id": "footer",
        "name": "pii",
        "pay": "footer",
    }
    assert sorted(people.parent.iterdir()) == before


def test_plan_of_an_encrypted_table_says_so(encrypted: Path, kms: list[str]) -> None:
    done = run("plan", encrypted, "--footer-key", "footer", *kms)
    assert done.code == 2
    assert "it is already encrypted" in done.err
    assert "pme-parquet inspect" in done.err
    assert "pme-parquet plan(" not in done.err
    assert "pme." not in done.err


def test_report_writes_a_page_with_keys(encrypted: Path, kms: list[str], tmp_path: Path) -> None:
    page = tmp_path / "with.html"
    done = run("report", encrypted, "--out", page, *kms, "--json")
    assert (done.code, done.document) == (0, {"page": str(page), "findings": 0})
    assert "verifying: 3 of 3 files" in done.err
    assert "looking into footers: 3 of 3 files" in done.err
    assert page.read_text().startswith("<!")


def test_doctor_prints_each_check(kms: list[str]) -> None:
    done = run("doctor", "--footer-key", "footer", *kms, "--json")
    assert done.code == 0, done.err
    statuses = {check["name"]: check["status"] for check in done.document["checks"]}
    assert {"Spark", "Java", "connector", "key 'footer' from driver", "key 'footer' from executor"} <= set(statuses)
    assert statuses["key 'footer' from driver"] == statuses["connector"] == "ok"
    assert "problem" not in statuses.values()


def test_a_subset_of_a_keystore_opens_what_its_keys_protect_and_nothing_else(
    encrypted: Path, keys: pme.Keystore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK)
    few = pme.Keystore(tmp_path / "few.p12", keys.password)
    assert run("keys", "subset", str(keys.path), str(few.path), "footer", "--password", str(keys.password)).code == 0
    done = run("verify", encrypted, *keystore(few), "--json")
    assert done.code == 3
    found = {(finding["condition"], finding["column"]) for finding in done.document["findings"]}
    assert found == {("PME_KEY_NOT_FOUND", "name")}


def test_an_option_that_is_not_known_exits_with_2(encrypted: Path, kms: list[str]) -> None:
    done = run("verify", encrypted, *kms, "-o", "footrKey=a")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1].startswith("[PME_UNKNOWN_OPTION]")
    assert "footerKey" in done.err


def test_a_storage_error_exits_with_4_in_one_line(kms: list[str]) -> None:
    done = run("verify", "nosuch://bucket/people", *kms, "--quiet")
    assert (done.code, len(done.err.splitlines())) == (4, 1)
    assert "nosuch" in done.err


@pytest.mark.parametrize(("more", "code"), [(["rotate"], 1), (["encrypt", "--in-place", "--footer-key", "f"], 2)])
def test_a_delta_table_is_refused_and_the_message_names_its_commands(
    table: Path, kms: list[str], more: list[str], code: int
) -> None:
    (table / "_delta_log").mkdir()
    done = run(*more, table, *kms)
    assert done.code == code
    assert "pme-parquet delta-encrypt and pme-parquet delta-rotate do this as a commit of the table." in done.err
    assert "Python" not in done.err


@pytest.mark.parametrize("command", ["delta-encrypt", "delta-rotate"])
def test_a_session_without_delta_is_refused_and_the_message_says_what_to_add(
    table: Path, kms: list[str], command: str
) -> None:
    (table / "_delta_log").mkdir()
    done = run(command, table, "--footer-key", "footer", *kms)
    assert (done.code, done.out) == (2, "")
    assert "this session has no Delta Lake. Add it with --packages: io.delta:" in done.err


def test_jobs_keep_the_group_that_the_user_gave_them(spark: SparkSession, encrypted: Path, keys: pme.Keystore) -> None:
    context = spark.sparkContext
    context.setJobGroup("mine", "a table")
    try:
        pme.verify(spark, encrypted, kms=keys, progress=False)
        assert context.statusTracker().getJobIdsForGroup("mine")
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
        context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]


def test_a_session_sees_its_own_settings(spark: SparkSession, encrypted: Path, keys: pme.Keystore) -> None:
    other = spark.newSession()
    for name, value in keys.options().items():
        other.conf.set(f"spark.datasource.pme-parquet.{name}", value)
    assert pme.verify(other, encrypted).count() == 0


def test_a_thread_of_the_jvm_has_its_session_back_afterwards(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    active = jvm.org.apache.spark.sql.SparkSession.getActiveSession
    before, other = active(), spark.newSession()
    jvm.io.pmeparquet.spark.admin.job.Progress.watch(other._jsparkSession)
    assert active().get().equals(other._jsparkSession)
    # The outcome does not matter: there is no such table.
    with pytest.raises(pme.BadOptionError):
        jvm.io.pmeparquet.spark.admin.TableCopies.encryptInPlace(
            other._jsparkSession, "/no/such/place", {}, {"kms": TEST_KMS, "footerKey": "footer"}
        )
    assert active().equals(before)


def test_the_job_tag_is_removed_afterwards(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def tagged() -> set[str]:
        return {tag for tag in spark.sparkContext.getJobTags() if tag.startswith("pme-")}

    during: list[set[str]] = []
    after: list[set[str]] = []

    class Asked(InheritableThread):
        """Ask in the same thread of the JVM, when the work is done."""

        def run(self) -> None:
            super().run()
            after.append(tagged())

    monkeypatch.setattr("pyspark.InheritableThread", Asked)
    watched(spark, lambda: during.append(tagged()), name="pme.x", progress=False, interrupted="")
    assert [len(tags) for tags in during] == [1]
    assert after == [set()]
