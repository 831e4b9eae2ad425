"""What `pme-parquet delta-encrypt`, `delta-rotate` and `delta-check --spark` hand over, and how they exit: no Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

import pme_parquet as pme
from pme_parquet._audience import used
from pme_parquet._checks.results import DeltaCheck
from pme_parquet._cli import delta, sessions
from pme_parquet._delta_encryption.encrypted import EncryptedTable
from pme_parquet._delta_log import live
from pme_parquet.delta import DeltaFinding
from tests.support.commands import Done, Stub, run, stubbed

if TYPE_CHECKING:
    from pathlib import Path


VERBS = ("delta-encrypt", "delta-rotate")
KEYS = ["--footer-key", "footer", "--column-key", "pii=ssn"]
KMS = ["--kms", "static", "-o", "kms.static.keys=env:PME_TEST_KEYS"]
OURS = "io.pmeparquet.spark.PmeExtensions,io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "spark.sql.catalog.spark_catalog"
DELTA = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
FOUND = DeltaFinding("plaintext file", "high", "ssn", "part", "no longer live")
CHECKED = DeltaCheck("people", 2, ("ssn",), "as named", (), {})
RESULT = EncryptedTable("people", 0, 2, 1, 1, 1, 4, {"ssn": "pii"}, {}, (), ("left",), ("VACUUM",), CHECKED)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Stand in for Spark and the operations."""
    monkeypatch.setenv("PME_TEST_KEYS", "footer=…")
    for name in ("PME_KMS", "PME_OPTIONS_FILE", "PME_MASTER", "SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    made = stubbed(monkeypatch)
    made.results |= {"delta-encrypt": RESULT, "delta-rotate": RESULT, "delta-check": CHECKED}
    return made


def options(stub: Stub) -> dict[str, str]:
    """Return the options of the Encryption that the operation got."""
    found: dict[str, str] = stub.arguments["enc"].options()
    return found


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(sessions, "_active", fail)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "people").mkdir()
    return tmp_path / "people"


def encrypt(table: Path, *more: str | Path) -> Done:
    return run("delta-encrypt", table, *KEYS, *KMS, *more)


@pytest.mark.parametrize("verb", VERBS)
def test_the_table_gets_the_keys_and_the_session_the_kms(stub: Stub, table: Path, verb: str) -> None:
    done = run(verb, table, *KEYS, *KMS, "-o", "unlistedColumns=plaintext", "-o", "dataKeyBits=256")
    assert (done.code, done.err) == (0, "")
    assert stub.arguments["table"] == str(table)
    assert options(stub)["columnKeys"] == json.dumps({"pii": ["ssn"]})
    assert options(stub)["unlistedColumns"] == "plaintext"
    assert stub.own == {
        "pme-parquet.kms": "static",
        "pme-parquet.kms.static.keys": "env:PME_TEST_KEYS",
        "pme-parquet.dataKeyBits": "256",
        "pme-parquet.footerKey": "footer",
    }


def test_each_command_has_its_operation() -> None:
    operations = (pme.delta.encrypt_table, pme.delta.rotate)
    assert (delta.delta_encrypt.function, delta.delta_rotate.function) == operations


def test_a_session_has_delta_and_our_factory(stub: Stub, table: Path) -> None:
    assert encrypt(table, "--packages", "io.delta:delta-spark_2.12:3.3.2", "--master", "local[3]").code == 0
    assert stub.started["spark.sql.extensions"] == OURS
    assert stub.started[CATALOG] == DELTA
    assert stub.started["spark.hadoop.parquet.crypto.factory.class"] == "io.pmeparquet.parquet.PmeCryptoFactory"
    assert stub.started["spark.jars.packages"] == "io.delta:delta-spark_2.12:3.3.2"
    assert stub.started["spark.master"] == "local[3]"


def test_no_option_of_the_format_is_in_what_starts_the_jvm(stub: Stub, table: Path) -> None:
    assert encrypt(table).code == 0
    assert stub.own
    assert not [name for name in stub.started if "kms" in name or "footer" in name.lower()]


@pytest.mark.parametrize("place", ["conf", "defaults"])
def test_extensions_of_the_user_are_kept(stub: Stub, table: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    given = f"a.Extension, {OURS}"
    if place == "defaults":
        (table.parent / "spark-defaults.conf").write_text(f"spark.sql.extensions {given}\n")
        monkeypatch.setenv("SPARK_CONF_DIR", str(table.parent))
    more = ["--conf", f"spark.sql.extensions={given}"] if place == "conf" else []
    assert encrypt(table, *more).code == 0
    assert stub.started["spark.sql.extensions"] == f"{OURS},a.Extension"


def test_settings_of_the_user_count(stub: Stub, table: Path) -> None:
    assert encrypt(table, "--conf", f"{CATALOG}=a.Catalog").code == 0
    assert stub.started[CATALOG] == "a.Catalog"


def test_a_footer_key_may_be_that_of_the_session(stub: Stub, table: Path) -> None:
    assert run("delta-encrypt", table, "--column-key", "pii=ssn", *KMS).code == 0
    assert stub.arguments["enc"].footer_key is None
    assert "pme-parquet.footerKey" not in stub.own


def test_keys_in_the_options_file_are_for_the_table_in_any_letters(stub: Stub, table: Path) -> None:
    file = table.parent / "options.json"
    file.write_text(json.dumps({"FOOTERKEY": "f", "columnkeys": "pii: ssn", "UnlistedColumns": "plaintext"}))
    assert run("delta-encrypt", table, "--options-file", file).code == 0
    assert stub.arguments["enc"].footer_key == "f"
    assert options(stub)["columnKeys"] == "pii: ssn"
    assert options(stub)["unlistedColumns"] == "plaintext"
    assert stub.own == {"pme-parquet.footerKey": "f"}


def test_names_of_parquet_java_are_settings_as_they_are(stub: Stub, table: Path) -> None:
    assert run("delta-encrypt", table, *KEYS, "-o", "parquet.encryption.kms.client.class=a.Client").code == 0
    assert stub.own["parquet.encryption.kms.client.class"] == "a.Client"


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("name", ["footer.key", "column.keys", "uniform.key", "complete.columns", "COLUMN.KEYS"])
def test_keys_by_names_of_parquet_java_are_refused(table: Path, name: str) -> None:
    done = run("delta-encrypt", table, *KEYS, "-o", f"parquet.encryption.{name}=x")
    assert done.code == 2
    assert "--column-key" in done.err


def test_a_uniform_key_is_the_footer_key_of_the_session(stub: Stub, table: Path) -> None:
    assert run("delta-rotate", table, "--uniform-key", "all", *KMS).code == 0
    assert stub.arguments["enc"].uniform_key == "all"
    assert stub.own["pme-parquet.footerKey"] == "all"
    assert "pme-parquet.uniformKey" not in stub.own


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("other", [["--footer-key", "f"], ["--column-key", "pii=ssn"], ["-o", "FOOTERKEY=f"]])
def test_a_uniform_key_and_others_are_refused(table: Path, other: list[str]) -> None:
    done = run("delta-encrypt", table, "--uniform-key", "all", *other)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("[PME_BAD_OPTION] --uniform-key")


@pytest.mark.parametrize("name", ["people", "db.people", "delta.`/data/people`"])
def test_a_name_of_a_table_is_left_to_spark(stub: Stub, name: str) -> None:
    assert run("delta-encrypt", name, *KEYS).code == 0
    assert stub.arguments["table"] == name


@pytest.mark.parametrize("findings", [(), (replace(FOUND, severity="note"),)])
def test_a_table_that_shows_nothing_exits_with_0(stub: Stub, table: Path, findings: tuple[DeltaFinding, ...]) -> None:
    stub.results["delta-encrypt"] = replace(RESULT, check=replace(CHECKED, findings=findings))
    done = encrypt(table)
    assert (done.code, done.err) == (0, "")
    assert "pme-parquet delta-check: no findings" in done.out


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("check", [replace(CHECKED, findings=(FOUND,)), None])
def test_what_is_readable_or_was_not_checked_exits_with_1(
    stub: Stub, table: Path, verb: str, check: DeltaCheck | None
) -> None:
    result = replace(RESULT, check=check, not_checked="" if check else "deltalake is missing")
    stub.results[verb] = result
    done = run(verb, table, *KEYS)
    assert (done.code, done.err) == (1, "")
    assert "1 finding; --json" in done.out if check else "not checked with pme-parquet delta-check" in done.out
    done = run(verb, table, *KEYS, "--json")
    assert (done.code, done.document) == (1, json.loads(json.dumps(result.to_dict())))
    assert "error" not in done.document


@pytest.mark.parametrize(
    ("column", "kms", "expected"),
    [([], [], None), (["--column", "ssn"], KMS, {"kms": "static", KMS[3][:15]: KMS[3][16:]})],
)
def test_a_check_with_spark_has_the_session_and_the_kms(
    stub: Stub, table: Path, column: list[str], kms: list[str], expected: dict[str, str] | None
) -> None:
    assert run("delta-check", table, "--spark", *column, *kms, "-o", "aadPrefix=people").code == 0
    asked = stub.arguments
    assert (asked["path"], asked["storage_options"]) == (str(table), None)
    assert asked["columns"] == (column[1:] or None)
    assert asked["kms"] == expected
    assert stub.own["pme-parquet.aadPrefix"] == "people"
    assert stub.started[CATALOG] == DELTA


@pytest.mark.usefixtures("no_spark")
def test_a_check_with_spark_and_storage_options_is_refused(table: Path) -> None:
    done = run("delta-check", table, "--spark", "--storage-option", "anon=true")
    assert done.code == 2
    assert "--storage-option" in done.err


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("name", ["columnKeys", "UNLISTEDcolumns", "algorithm", "parquet.encryption.column.keys"])
def test_a_check_takes_no_option_that_says_how_a_table_is_written(table: Path, name: str) -> None:
    done = run("delta-check", table, "--spark", *KMS, "-o", f"{name}=x")
    assert (done.code, done.out) == (2, "")
    assert "--column names a column" in " ".join(done.err.split())


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(
    "given",
    [
        ["--kms", "static"],
        ["-o", "kms=static"],
        ["--options-file", "kms.json"],
        ["--conf", "a=b"],
        ["--packages", "a:b:1"],
        ["--master", "yarn"],
    ],
    ids=" ".join,
)
def test_options_of_a_session_without_spark_are_refused(table: Path, given: list[str]) -> None:
    done = run("delta-check", table, *given)
    assert (done.code, done.out) == (2, "")
    assert "Add --spark" in " ".join(done.err.replace("│", " ").split())


def test_variables_for_other_commands_do_not_stop_a_check(
    stub: Stub, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PME_KMS": "static", "PME_OPTIONS_FILE": "kms.json", "PME_MASTER": "yarn"}.items():
        monkeypatch.setenv(name, value)
    assert run("delta-check", table).code == 0
    assert stub.started == {}


def test_a_session_without_delta_says_what_to_add_of_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pme_parquet._spark.driver.method_of", lambda *_: lambda *_: None)
    spark: Any = None
    with used("cli"):
        told = live.from_session("t", spark, "its only checkpoint is encrypted", "pme.delta.check").problem
    assert told.startswith(
        "its only checkpoint is encrypted; the session has no Delta: add it with --packages (io.delta:"
    )
