"""Parquet tables of a Hive metastore that Hive's SerDe reads and writes, with our crypto factory in the session."""

from __future__ import annotations

from typing import Any

import pytest

from tests.interop import hive_serde_job
from tests.support.processes import result_of
from tests.support.session import SPARK_VERSION

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

ROWS = sorted(repr((at, f"ssn-{at}", at * 1.5)) for at in range(40))
ENCRYPTED = "b'PARE' b'PARE'"
TABLES = {"people": 2, "visits": 4, "copied": 2, "directory": 2}
# Where Spark leaves a table to the SerDe, and where it reads and writes the table itself.
CONVERTED = ("false", "true")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found: dict[str, Any] = result_of(hive_serde_job, str(tmp_path_factory.mktemp("hive") / "work"))
    return found


def test_statements_of_hive_write_encrypted_files_and_read_them(done: dict[str, Any]) -> None:
    assert done["by serde"]
    assert (done["insert"], done["partitions"]) == ([], [])
    for step in ("select", "visits", "ctas", "by pme-parquet"):
        assert done[step] == ROWS, step
    assert done["filtered"] == ["(10.5,)"]
    assert done["files"] == {table: [ENCRYPTED] * count for table, count in TABLES.items()}
    for table, count in TABLES.items():
        assert done[f"inspect {table}"] == [count, count], table
        assert done[f"keys {table}"] == [["footer", "footer", ["id", "salary"]], ["pii", "column", ["ssn"]]], table
    # The search finds secrets where they are readable.
    assert (done["readable"], done["converted readable"], done["plain readable"]) == ([], [], True)


def test_the_serde_and_spark_read_what_the_other_wrote(done: dict[str, Any]) -> None:
    assert done["converted select"] == done["both"] == ["(80, 'ssn-9')"]


def test_the_driver_calls_the_kms_once_for_each_key(done: dict[str, Any]) -> None:
    assert done["calls insert"] == ["wrap footer driver", "wrap pii driver"]
    assert done["calls select"] == ["unwrap footer driver", "unwrap pii driver"]
    # Writes of a session share a key that wraps their keys, and the tables' properties do not part them.
    for step in ("partitions", "visits", "converted insert", "converted select"):
        assert done[f"calls {step}"] == [], step


def test_writes_without_keys_fail_and_leave_nothing(done: dict[str, Any]) -> None:
    assert done["no key"][0] == done["no key ctas"][0] == "PME_NO_KEY"
    assert done["no column"][0] == "PME_UNKNOWN_COLUMN"
    assert done["left by failures"] == [True, False]


def test_files_that_are_not_as_the_session_says_are_refused(done: dict[str, Any]) -> None:
    """Also with `spark.files.ignoreCorruptFiles`, which the job's session has."""
    assert done["right keys"] == ["(80,)"]
    assert done["other keys"][0] == "PME_KEY_METADATA"
    assert done["plaintext"][0] == "PME_PLAINTEXT_FILE"
    assert done["planted file"][0] == "PME_PLAINTEXT_FILE"
    assert done["without factory"][0] == "PME_NO_KEY"


@pytest.mark.parametrize("table", ["own_t", "own_s", "javas_t", "javas_s"])
def test_a_table_that_asks_for_keys_is_not_written_in_plaintext(done: dict[str, Any], table: str) -> None:
    for convert in CONVERTED:
        condition, message = done[f"plain {table} {convert}"]
        assert condition == "PME_BAD_OPTION"
        assert "footerKey" in message or "parquet.encryption.footer.key" in message
        outcome = done[f"nobody {table} {convert}"]
        # The factory gets parquet-java's names. A table must not choose the rest.
        assert outcome == [] if table.startswith("javas") else outcome[0] == "PME_BAD_OPTION", convert
    assert done[f"files {table}"] == ([ENCRYPTED] if table.startswith("javas") else [])
    assert done[f"ctas {table}"][0] == "PME_BAD_OPTION"


def test_keys_in_parquet_java_s_names_are_the_table_s(done: dict[str, Any]) -> None:
    assert done["keys javas_t"] == [["None", ["id", "salary"]], ["footer", []], ["pii", ["ssn"]]]
    # Spark does not read them from a table of its own.
    for who in ("plain", "nobody"):
        condition, message = done[f"{who} of_spark"]
        assert condition == "PME_BAD_OPTION"
        assert "parquet.encryption.footer.key" in message


@pytest.mark.parametrize("table", hive_serde_job.PLANTED)
def test_a_table_does_not_choose_a_kms_or_what_is_accepted(done: dict[str, Any], table: str) -> None:
    setting, kind = hive_serde_job.PLANTED[table]
    for convert in CONVERTED:
        for statement in ("read", "write"):
            outcome = done[f"{statement} {table} {convert}"]
            # Spark itself does not read properties that have other beginnings.
            if convert == "true" and kind == hive_serde_job.TABLE and not setting.startswith("parquet."):
                ignored = setting.startswith("hadoop.") or statement == "read"
                assert ignored or outcome[0] == "PME_BAD_OPTION", (statement, convert)
            else:
                assert outcome[0] == "PME_BAD_OPTION", (statement, convert)
                assert setting in outcome[1]
    assert set(done[f"files {table}"]) <= {ENCRYPTED}


def test_options_of_a_table_of_spark_do_not_choose_what_is_accepted(done: dict[str, Any]) -> None:
    for statement in ("read", "write"):
        condition, message = done[f"{statement} lax"]
        assert condition == "PME_BAD_OPTION"
        assert "pme-parquet.plaintextFiles" in message


def test_what_one_session_has_cached_by_the_serde_answers_no_other(done: dict[str, Any]) -> None:
    assert done["cached by itself"] == ["(80,)"]
    assert done["cached by another"][0] == "PME_NO_KEY"
    assert done["cached with other keys"][0] == "PME_KEY_METADATA"


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="Spark 3.5 runs no rule of ours before it drops them")
def test_options_that_spark_drops_are_refused(done: dict[str, Any]) -> None:
    for step in ("options of a read", "options of an insert"):
        condition, message = done[step]
        assert condition == "PME_BAD_OPTION", step
        assert "pme-parquet.columnKeys" in message


def test_tables_of_orc_are_not_written_in_plaintext_next_to_encrypted_ones(done: dict[str, Any]) -> None:
    for step in ("orc false", "orc true", "orc directory"):
        assert done[step][0] == "PME_BAD_OPTION", step
    assert done["orc left"] == [False, False]


def test_a_session_may_trust_a_table(done: dict[str, Any]) -> None:
    assert done["trusted"] == ["(40,)"]
    condition, message = done["not trusted"]
    assert condition == "PME_BAD_OPTION"
    assert "trustedTables to spark_catalog.default.plain" in message
