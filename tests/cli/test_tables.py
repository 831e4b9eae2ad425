"""What the commands for tables do and print, and how they exit."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.cli.conftest import FILES
from tests.support.canary import data_files
from tests.support.commands import keystore, run
from tests.support.session import PASSWORD_VARIABLE

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def table(encrypted: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may change, without the checksums of Hadoop's local file system."""
    return shutil.copytree(encrypted, tmp_path / "table", ignore=shutil.ignore_patterns(".*.crc"))


@pytest.fixture
def damaged(table: Path) -> Path:
    data_files(table)[0].write_bytes(b"PAR1 and no more PARE")
    return table


def test_encrypt_prints_what_it_wrote(people: Path, given: list[str], tmp_path: Path) -> None:
    done = run("encrypt", people, tmp_path / "new", "--uniform-key", "footer", *given, "--json")
    assert done.code == 0
    written = done.document
    assert (written["target"], written["files"], written["rows"]) == (str(tmp_path / "new"), FILES, FILES * 100)
    assert {file.footer for file in pme.inspect(tmp_path / "new").files} == {"encrypted"}


def test_rekey_and_decrypt_restore_the_table(encrypted: Path, people: Path, given: list[str], tmp_path: Path) -> None:
    rekeyed = run(
        "rekey", encrypted, tmp_path / "rekeyed", "--uniform-key", "pay", "-o", "plaintextFooter=true", *given
    )
    assert (rekeyed.code, rekeyed.out.startswith(f"{tmp_path / 'rekeyed'}: {FILES} files, 300 rows, ")) == (0, True)
    assert {file.footer for file in pme.inspect(tmp_path / "rekeyed").files} == {"signed"}
    opened = run("decrypt", tmp_path / "rekeyed", tmp_path / "open", "--write-plaintext", *given, "--json")
    assert (opened.code, opened.document["rows"]) == (0, FILES * 100)
    assert pq.read_table(tmp_path / "open").sort_by("id") == pq.read_table(people).sort_by("id")


def test_a_copy_may_go_to_another_kms(encrypted: Path, given: list[str], tmp_path: Path) -> None:
    other = pme.Keystore(tmp_path / "other.p12", pme.env(PASSWORD_VARIABLE)).create(["k"])
    source = ["--source-option" if argument == "-o" else argument for argument in given if argument != "--kms"]
    source[0:1] = ["--source-option", "kms=keystore"]
    done = run("rekey", encrypted, tmp_path / "moved", "--uniform-key", "k", *keystore(other), *source)
    assert done.code == 0, done.err
    assert run("verify", tmp_path / "moved", *keystore(other)).code == 0


def test_decrypt_takes_options_of_its_source(encrypted: Path, given: list[str], tmp_path: Path) -> None:
    other = ["--source-option", "aadPrefix=another"]
    done = run("decrypt", encrypted, tmp_path / "open", "--write-plaintext", *given, *other)
    assert (done.code, "PME_AAD_PREFIX" in done.err) == (1, True)


def test_decrypt_without_write_plaintext_is_wrong_use(encrypted: Path, given: list[str], tmp_path: Path) -> None:
    done = run("decrypt", encrypted, tmp_path / "open", *given)
    assert (done.code, done.out) == (2, "")
    assert "--write-plaintext" in done.err
    assert not (tmp_path / "open").exists()


def test_encrypt_needs_a_target_or_in_place(people: Path, tmp_path: Path) -> None:
    assert run("encrypt", people, "--footer-key", "a").code == 2
    assert run("encrypt", people, tmp_path / "new", "--in-place", "--footer-key", "a").code == 2


def test_verify_finds_nothing_in_an_undamaged_table(encrypted: Path, given: list[str]) -> None:
    done = run("verify", encrypted, *given)
    assert done.code == 0
    assert done.out.startswith(f"{encrypted}: {FILES} files, ")
    assert done.out.endswith("; no findings\n")


def test_verify_prints_a_finding_and_exits_with_1(damaged: Path, given: list[str]) -> None:
    done = run("verify", damaged, *given, "--json")
    assert done.code == 1
    assert [finding["condition"] for finding in done.document["findings"]] == ["PME_DAMAGED_FILE"]
    assert done.document["opened"]["files"] == FILES
    assert "1 finding\n[PME_DAMAGED_FILE]" in run("verify", damaged, *given).out


@pytest.fixture
def without_pii(keys: pme.Keystore, tmp_path: Path) -> list[str]:
    """Return the options of a keystore that has the footer's key and lacks the column's."""
    few = shutil.copy(keys.path, tmp_path / "few.p12")
    delete = ["keytool", "-delete", "-alias", "pii", "-keystore", str(few), "-storepass:env", PASSWORD_VARIABLE]
    subprocess.run(delete, check=True, capture_output=True)
    return keystore(pme.Keystore(few, pme.env(PASSWORD_VARIABLE)))


def test_verify_and_key_usage_exit_with_3_if_missing_keys_are_the_only_problem(
    table: Path, without_pii: list[str]
) -> None:
    done = run("verify", table, *without_pii, "--json")
    assert done.code == 3
    assert {finding["condition"] for finding in done.document["findings"]} == {"PME_KEY_NOT_FOUND"}
    assert run("key-usage", table, *without_pii).code == 3
    data_files(table)[0].write_bytes(b"PAR1 and no more PARE")
    assert run("verify", table, *without_pii).code == 1


def test_verify_reports_columns_under_another_key(table: Path, people: Path, given: list[str], tmp_path: Path) -> None:
    binding = ["-o", "columnKeys=pii: name", "-o", "footerKey=footer"]
    assert run("verify", table, *given, *binding).code == 0
    planted = tmp_path / "planted"
    assert run("encrypt", data_files(people)[0], planted, "--footer-key", "footer", *given).code == 0
    shutil.copy(data_files(planted)[0], table / "part-9.parquet")
    done = run("verify", table, *given, *binding, "--json")
    assert (done.code, [finding["column"] for finding in done.document["findings"]]) == (1, ["name"])
    [finding] = done.document["findings"]
    assert finding["condition"] == "PME_KEY_METADATA"
    assert "encrypted with the footer's key, 'footer', but columnKeys requires key 'pii'" in finding["message"]


def test_verify_can_check_a_sample(encrypted: Path, given: list[str]) -> None:
    done = run("verify", encrypted, *given, "--sample-files", "0.4", "--sample-seed", "7", "--json")
    assert done.document["opened"]["sample"] == {"files": 0.4, "pages": 1.0, "seed": 7}
    assert done.document["opened"]["skipped_files"] > 0


def test_rotate_does_what_its_dry_run_shows(table: Path, given: list[str]) -> None:
    arguments: list[str | Path] = ["rotate", table, "--master-key", "footer=pay", "--json", *given]
    foreseen = run(*arguments, "--dry-run")
    assert (foreseen.code, foreseen.document["dry_run"], foreseen.document["counts"]) == (0, True, {"rotated": FILES})
    assert {file.footer_key.master_key for file in pme.inspect(table).files if file.footer_key} == {"footer"}
    assert run(*arguments).document["counts"] == {"rotated": FILES}
    assert {file.footer_key.master_key for file in pme.inspect(table).files if file.footer_key} == {"pay"}


def test_rotate_to_another_kms(table: Path, given: list[str], tmp_path: Path) -> None:
    other = pme.Keystore(tmp_path / "other.p12", pme.env(PASSWORD_VARIABLE)).create(["footer", "pii"])
    done = run("rotate", table, *given, "--new-option", f"kms.keystore.path={other.path}")
    assert (done.code, done.out) == (0, f"{FILES} files: {FILES} rotated\n"), done.err
    assert run("verify", table, *keystore(other)).code == 0


def test_rotate_reports_all_files_when_some_fail(damaged: Path, given: list[str]) -> None:
    arguments: list[str | Path] = ["rotate", damaged, "--master-key", "footer=pay", *given]
    done = run(*arguments)
    assert done.code == 1
    assert done.out.startswith(f"{FILES} files: 1 failed, {FILES - 1} rotated")
    assert "[PME_DAMAGED_FILE]" in done.err
    told = run(*arguments, "--json").document
    assert told["error"]["condition"] == "PME_DAMAGED_FILE"
    assert told["counts"] == {"failed": 1, "unchanged": FILES - 1}


def test_key_usage_shows_what_would_be_lost(encrypted: Path, given: list[str]) -> None:
    keys = {row["master_key"]: row for row in run("key-usage", encrypted, *given, "--json").document["keys"]}
    assert keys["footer"]["unreadable_files"] == FILES
    assert keys["pii"]["columns"] == ["name"]
    shown = run("key-usage", encrypted, *given)
    assert shown.code == 0
    assert "unreadable  columns" in shown.out
    assert max(map(len, shown.out.splitlines()[1:])) <= 80


def test_key_usage_exits_with_1_if_a_file_cannot_be_read(damaged: Path, given: list[str]) -> None:
    assert run("key-usage", damaged, *given).code == 1


WRONG = {
    "an option that is not known": (["-o", "footrKey=a"], "PME_UNKNOWN_OPTION", "footerKey"),
    "a value that cannot be": (["-o", "reader=none"], "PME_BAD_OPTION", "reader"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_options_exit_with_2(encrypted: Path, given: list[str], name: str) -> None:
    arguments, condition, told = WRONG[name]
    done = run("verify", encrypted, *given, *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1].startswith(f"[{condition}]")
    assert told in done.err


@pytest.mark.parametrize("command", ["verify", "rotate", "key-usage"])
def test_a_missing_path_exits_with_2(given: list[str], tmp_path: Path, command: str) -> None:
    done = run(command, tmp_path / "nowhere", *given, "--json")
    assert done.code == 2
    assert done.document["error"]["condition"] == "PME_BAD_OPTION"
    assert "there is nothing" in done.err


def test_a_copy_of_a_missing_path_exits_with_2(given: list[str], tmp_path: Path) -> None:
    done = run("encrypt", tmp_path / "nowhere", tmp_path / "new", "--footer-key", "footer", *given)
    assert done.code == 2
    assert "there is nothing" in done.err


def test_a_target_that_is_not_empty_exits_with_2(people: Path, encrypted: Path, given: list[str]) -> None:
    assert run("encrypt", people, encrypted, "--footer-key", "footer", *given).code == 2


def test_a_pattern_that_matches_nothing_exits_with_2(people: Path, given: list[str], tmp_path: Path) -> None:
    done = run("encrypt", people, tmp_path / "new", "--footer-key", "footer", "--column-key", "pii=nmae", *given)
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith("[PME_UNKNOWN_COLUMN]")


def test_a_damaged_source_exits_with_1_and_leaves_no_target(damaged: Path, given: list[str], tmp_path: Path) -> None:
    done = run("rekey", damaged, tmp_path / "new", "--uniform-key", "pay", *given)
    assert done.code == 1
    assert not (tmp_path / "new").exists()


def test_a_key_missing_from_the_kms_exits_with_3(people: Path, given: list[str], tmp_path: Path) -> None:
    done = run("encrypt", people, tmp_path / "new", "--footer-key", "nobody", *given, "--json")
    assert done.code == 3
    assert done.document["error"]["condition"] == "PME_KEY_NOT_FOUND"


def test_a_missing_kms_exits_with_3(people: Path, tmp_path: Path) -> None:
    away = keystore(pme.Keystore(tmp_path / "away.p12", pme.env(PASSWORD_VARIABLE)))
    done = run("encrypt", people, tmp_path / "new", "--footer-key", "footer", *away)
    assert (done.code, done.out) == (3, "")


def test_a_storage_error_exits_with_4_in_one_line(given: list[str]) -> None:
    done = run("verify", "nosuch://bucket/people", *given, "--quiet")
    assert (done.code, len(done.err.splitlines())) == (4, 1)
    assert "nosuch" in done.err


def test_options_can_be_in_a_file_that_the_environment_names(
    encrypted: Path, keys: pme.Keystore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kms.json"
    file.write_text(json.dumps(keys.options()))
    monkeypatch.setenv("PME_OPTIONS_FILE", str(file))
    assert run("verify", encrypted).code == 0


def test_many_findings_of_one_cause_are_one_line(encrypted: Path, tmp_path: Path) -> None:
    others = pme.Keystore(tmp_path / "others.p12", pme.env(PASSWORD_VARIABLE)).create(["footer-2"])
    done = run("verify", encrypted, *keystore(others))
    assert done.code in {1, 3}
    [_, line] = done.out.splitlines()
    assert line.startswith(f"[PME_KEY_NOT_FOUND] in {FILES} files, as in file:")
    assert len(run("verify", encrypted, *keystore(others), "--json").document["findings"]) == FILES


def test_control_characters_in_names_do_not_reach_the_terminal(table: Path, given: list[str]) -> None:
    data_files(table)[0].with_name("part-\x1b[31m.parquet").write_bytes(b"PAR1")
    for command in ("verify", "rotate", "key-usage"):
        assert "\x1b" not in run(command, table, *given).out


def test_the_session_keeps_running(spark: SparkSession, encrypted: Path, given: list[str]) -> None:
    assert run("verify", encrypted, *given).code == 0
    assert spark.range(1).count() == 1


@pytest.mark.parametrize(("more", "code"), [(["rotate"], 1), (["encrypt", "--in-place", "--footer-key", "f"], 2)])
def test_a_delta_table_is_refused_and_the_message_names_its_commands(
    table: Path, given: list[str], more: list[str], code: int
) -> None:
    (table / "_delta_log").mkdir()
    done = run(*more, table, *given)
    assert done.code == code
    assert "pme-parquet delta-encrypt and pme-parquet delta-rotate do this as a commit of the table." in done.err
    assert "Python" not in done.err


@pytest.mark.parametrize("command", ["delta-encrypt", "delta-rotate"])
def test_a_session_without_delta_is_refused_and_the_message_says_what_to_add(
    table: Path, given: list[str], command: str
) -> None:
    (table / "_delta_log").mkdir()
    done = run(command, table, "--footer-key", "footer", *given)
    assert (done.code, done.out) == (2, "")
    assert "this session has no Delta Lake. Add it with --packages: io.delta:" in done.err


def test_a_subset_of_a_keystore_opens_what_its_keys_protect_and_nothing_else(
    encrypted: Path, keys: pme.Keystore, tmp_path: Path
) -> None:
    password = str(keys.password)
    made = run("keys", "subset", str(keys.path), tmp_path / "few.p12", "footer", "--password", password, "--json")
    assert (made.code, made.document["keys"]) == (0, ["footer"])
    opened = ["--keystore", str(tmp_path / "few.p12"), "-o", f"kms.keystore.password={password}"]
    done = run("verify", encrypted, *opened, "--json")
    assert done.code == 3
    found = {(finding["condition"], finding["column"]) for finding in done.document["findings"]}
    assert found == {("PME_KEY_NOT_FOUND", "name")}
