"""The command reports problems before Spark starts, in its own words."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pme_parquet as pme
from pme_parquet import _audience
from pme_parquet._audience import Words, used
from pme_parquet._cli import checking, sessions
from pme_parquet._spark.connector import Connector, evaluated
from tests.support.commands import COMMANDS, run
from tests.support.files.handmade import encrypted
from tests.support.processes import environment
from tests.support.session import QUICK

SPARK = ["doctor", "plan", "verify", "rotate", "key-usage", "encrypt", "rekey", "decrypt", "report", "seal"]
SPARK += ["delta-encrypt", "delta-rotate"]


def arguments(verb: str, path: Path, *, target: Path | None = None) -> list[str | Path]:
    """Return a complete command, with the changes of a test."""
    more: dict[str, list[str | Path]] = {
        "doctor": [],
        "encrypt": [target or path.parent / "new", "--footer-key", "f"],
        "rekey": [target or path.parent / "new", "--footer-key", "f"],
        "decrypt": [target or path.parent / "new", "--write-plaintext"],
        "report": ["--out", path.parent / "report.html"],
        "plan": ["--footer-key", "f"],
    }
    return [verb, *([] if verb == "doctor" else [path]), *more.get(verb, [])]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "table").mkdir()
    return tmp_path / "table"


@pytest.mark.parametrize("verb", [verb for verb in SPARK if verb != "doctor"])
@pytest.mark.parametrize("scheme", ["", "file:"])
def test_a_missing_path_is_refused(tmp_path: Path, verb: str, scheme: str) -> None:
    command = arguments(verb, tmp_path / "nowhere")
    command[1] = f"{scheme}{command[1]}"
    done = run(*command, "--json")
    message = f"[PME_BAD_OPTION] {command[1]}: there is nothing at this path. Check the path."
    assert (done.code, done.err) == (2, f"{message}\n")
    assert done.document == {"error": {"condition": "PME_BAD_OPTION", "message": message}}


@pytest.mark.parametrize("verb", SPARK)
def test_an_unknown_kms_is_refused(table: Path, verb: str) -> None:
    done = run(*arguments(verb, table), "--kms", "keystor")
    assert (done.code, done.out) == (2, "")
    assert "--kms: there is no KMS 'keystor'." in done.err
    assert "Did you mean keystore?" in done.err


@pytest.mark.parametrize("verb", SPARK)
def test_a_missing_keystore_exits_with_3(table: Path, verb: str) -> None:
    done = run(*arguments(verb, table), "-o", f"kms.keystore.path={table}/none.p12")
    assert (done.code, done.out) == (3, "")
    assert "there is no such file" in done.err
    assert "`pme-parquet keys create`" in done.err


def test_a_directory_in_place_of_a_keystore_is_named(table: Path) -> None:
    done = run("verify", table, "--keystore", table)
    assert done.code == 3
    assert "it is a directory. Name a file in it: " in done.err


@pytest.mark.parametrize("reference", ["env:PME_NOT_SET", "file:/no/such/file"])
def test_a_missing_secret_exits_with_3(table: Path, reference: str) -> None:
    given = ["--kms", "vault", "-o", f"kms.vault.token={reference}"]
    done = run("verify", table, *given)
    assert (done.code, done.out) == (3, "")
    assert f"-o kms.vault.token: the secret '{reference}' cannot be read" in done.err
    # The command does not check what another KMS would need.
    checking.before_spark(sessions.SparkChoice(), {"kms": "aws", "kms.vault.token": reference}, str(table))


def test_a_missing_public_key_exits_with_3(table: Path) -> None:
    for verb, *given in (("seal", "--verify-key", "file:/no"), ("verify", "-o", "verifyKey=file:/no")):
        done = run(verb, table, *given)
        assert (done.code, done.out) == (3, "")
        assert "the secret 'file:/no' cannot be read: there is no such file" in done.err


def test_an_index_without_a_column_is_refused(table: Path) -> None:
    done = run("seal", table, "--min-max", "")
    assert (done.code, done.out) == (2, "")
    assert (
        done.err == "[PME_BAD_OPTION] pme-parquet: an index names no column. Give the names of one or more columns.\n"
    )


@pytest.mark.parametrize("verb", ["encrypt", "rekey", "decrypt"])
def test_a_target_that_is_not_empty_is_refused(table: Path, tmp_path: Path, verb: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    done = run(*arguments(verb, table, target=tmp_path / "full"))
    assert (done.code, done.out) == (2, "")
    assert "something is there already" in done.err


@pytest.mark.parametrize("verb", ["encrypt", "rekey", "decrypt", "report"])
def test_a_directory_without_write_permission_is_refused(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK and access(path, mode))
    done = run(*arguments(verb, table, target=tmp_path / "a" / "b"))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("[PME_BAD_OPTION]")
    assert "you have no write permission for" in done.err


@pytest.mark.parametrize(
    ("path", "choice", "variables"),
    [
        ("s3a://bucket/none", {}, {}),
        ("none/*", {}, {}),
        ("none", {"conf": ["spark.hadoop.fs.defaultFS=hdfs://namenode"]}, {}),
        ("none", {}, {"HADOOP_CONF_DIR": "/etc/hadoop"}),
    ],
)
def test_paths_that_may_be_on_another_file_system_are_left_to_spark(
    monkeypatch: pytest.MonkeyPatch, path: str, choice: dict[str, Any], variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    checking.before_spark(sessions.SparkChoice(**choice), {}, path, target=path)


def test_a_default_file_system_in_sparks_own_files_is_respected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    with pytest.raises(pme.BadOptionError):
        checking.before_spark(sessions.SparkChoice(), {}, "none")
    (tmp_path / "core-site.xml").write_text("<configuration/>")
    checking.before_spark(sessions.SparkChoice(), {}, "none")


def test_the_version_is_printed() -> None:
    done = run("--version")
    assert (done.code, done.out, done.err) == (0, f"pme-parquet {pme.__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (Words("pme.rekey"), "pme-parquet rekey"),
        (Words("pme.key_usage"), "pme-parquet key-usage"),
        (Words("pme.delta.check"), "pme-parquet delta-check"),
        (Words("pme.delta.encrypt_table"), "pme-parquet delta-encrypt"),
        (Words("pme.Keystore"), "pme-parquet"),
        (Words("column_keys", "--column-key"), "--column-key"),
    ],
)
def test_messages_use_the_words_of_the_command(words: Words, told: str) -> None:
    with used("cli"):
        assert (f"{words}: no", str(words)) == (f"{told}: no", told)
    assert f"{words}" == str(words) == words


def test_every_command_that_messages_name_exists() -> None:
    names = {" ".join(command) for command in COMMANDS}
    assert {command.removeprefix("pme-parquet ") for command in _audience.COMMANDS.values()} <= names


@pytest.mark.parametrize("connector", [None, Connector("0.1.0", "3.5", "2.12")])
def test_connector_problems_are_reported_without_python_code(connector: Connector | None) -> None:
    with used("cli"):
        found = evaluated(connector, "4.1.3", "2.13.16", "0.1.0")
        assert found is not None
        told = str(found.error(Words("pme.verify")))
    assert "pme-parquet verify" in told
    assert not any(words in told for words in ("pme.", "Python", "kernel", "spark.stop"))
    assert "--conf" in told or "run the command again" in told


def test_messages_of_the_keys_commands_contain_no_python_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PME_KEYSTORE_PASSWORD", raising=False)
    (tmp_path / "there.p12").write_text("")
    told = [
        run("keys", "list", tmp_path / "none.p12"),
        run("keys", "create", tmp_path / "there.p12", "a"),
        run("keys", "create", tmp_path / "new.p12", "a"),
        run("keys", "create", tmp_path / "new.p12", "a", "--password", "conf:x"),
        run("keys", "create", tmp_path / "new.p12", "a", "--password", "hunter2"),
    ]
    assert [done.code for done in told] == [3, 2, 2, 2, 2]
    for done in told:
        assert "()" not in done.err
        assert "pme." not in done.err


def test_a_subset_of_a_keystore_has_only_the_named_keys(
    keys: pme.Keystore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK)
    monkeypatch.setenv("PME_COLLEAGUE", "another long password")
    typed = ["subset", keys.path, "few.p12", "footer", "--password", keys.password, "--target-password"]
    monkeypatch.chdir(tmp_path)
    made = run("keys", *map(str, typed), "env:PME_COLLEAGUE", "--json")
    assert (made.code, made.document["keys"]) == (0, ["footer"])
    listed = run("keys", "list", "few.p12", "--password", "env:PME_COLLEAGUE")
    assert (listed.code, listed.out) == (0, "few.p12 (PKCS12)\nfooter\n")


def test_a_report_without_keys_needs_no_spark(table: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    arguments: list[str | Path] = ["report", table, "--out", page, "--no-verify"]
    (table / "a").write_bytes(encrypted(b"footer"))
    done = run(*arguments)
    assert (done.code, done.out, done.err) == (0, f"{page}: 0 findings\n", "")
    (table / "b").write_bytes(b"PAR1")
    done = run(*arguments)
    assert (done.code, done.out) == (1, f"{page}: 1 finding\n")
    assert "1 finding" in page.read_text()


def test_a_result_that_cannot_be_written_is_wrong_use(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 a device
        done = subprocess.run(
            [sys.executable, "-c", "from pme_parquet.cli import main; main()", "inspect", str(tmp_path), "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=environment(),
        )
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("pme-parquet: the result cannot be written to stdout: No space left on device.")


def test_ctrl_c_while_spark_starts_ends_every_process_that_was_started(table: Path) -> None:
    java = table.parent / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    started = table.parent / "started"
    os.mkfifo(started)
    # Imitates a slow JVM: it prints its process id and does not end by itself.
    java.write_text(f"#!/bin/sh\ntrap '' INT TERM\necho $$ > {started}\nsleep 600\n")
    java.chmod(0o755)
    # A shell that starts the tests in the background lets them ignore Ctrl-C.
    heard = "from signal import *; signal(SIGINT, default_int_handler); from pme_parquet.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", heard, "verify", str(table)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment() | {"JAVA_HOME": str(java.parents[1])},
    )
    try:
        jvm = int(started.read_text())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines() == [
        "starting Spark …",
        "Interrupted while Spark was starting. Nothing was done. Run it again.",
    ]
    assert not alive(jvm)


def alive(process: int) -> bool:
    """Return whether a process still runs. One that ended and was not waited for does not count."""
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


SECRET = "swordfish-41"


@pytest.mark.parametrize(
    "arguments",
    [
        ["-o", f"kms.keystore.password={SECRET}"],
        ["-o", f"KMS.Vault.Token={SECRET}"],
        ["--conf", f"spark.datasource.pme-parquet.kms.keystore.password={SECRET}"],
        ["--conf", f"spark.hadoop.pme-parquet.kms.vault.token={SECRET}"],
        ["--conf", f"spark.hadoop.parquet.encryption.key.access.token={SECRET}"],
    ],
)
def test_a_secret_written_out_is_refused(arguments: list[str]) -> None:
    done = run("verify", "people", *arguments, "--json")
    assert done.code == 2
    assert done.err.startswith("[PME_SECRET_IN_OPTION]")
    assert done.document["error"]["condition"] == "PME_SECRET_IN_OPTION"
    assert SECRET not in done.out + done.err


def test_a_secret_in_a_file_of_options_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "kms.json"
    file.write_text(json.dumps({"kms": "vault", "kms.vault.token": SECRET}))
    done = run("verify", "people", "--options-file", file)
    assert (done.code, done.err[:22]) == (2, "[PME_SECRET_IN_OPTION]")
    assert SECRET not in done.out + done.err


def test_a_public_key_written_out_is_refused() -> None:
    for given in (["--verify-key", SECRET], ["-o", f"verifyKey={SECRET}"]):
        done = run("seal", "people", *given)
        assert (done.code, done.err[:22]) == (2, "[PME_SECRET_IN_OPTION]")
        assert SECRET not in done.out + done.err


def test_a_secret_of_the_new_kms_is_refused() -> None:
    done = run("rotate", "people", "--new-option", f"kms.keystore.password={SECRET}")
    assert (done.code, done.err[:22]) == (2, "[PME_SECRET_IN_OPTION]")
    assert SECRET not in done.out + done.err
