"""Parquet tables of a Hive metastore that Hive's SerDe reads and writes, with our crypto factory in the session."""

from __future__ import annotations

import pytest

from tests.interop import hive_serde_job
from tests.interop.hive_serde_job import Result, Used
from tests.support import needs
from tests.support.processes import result_of

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

ROWS = sorted(repr((at, f"ssn-{at}", at * 1.5)) for at in range(40))
ENCRYPTED = "b'PARE' b'PARE'"
TABLES = {"people": 2, "visits": 4, "copied": 2, "directory": 2}
# Where Spark leaves a table to the SerDe, and where it reads and writes the table itself.
CONVERTED = ("false", "true")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return result_of(hive_serde_job, Result, str(tmp_path_factory.mktemp("hive") / "work"))


def test_statements_of_hive_write_encrypted_files_and_read_them(result: Result) -> None:
    assert result.by_serde
    assert result.done["insert"].rows == result.done["partitions"].rows == []
    for step in ("select", "visits", "ctas", "by pme-parquet"):
        assert result.done[step].rows == ROWS, step
    assert result.done["filtered"].rows == ["(10.5,)"]
    assert result.inspected == TABLES
    for table, count in TABLES.items():
        assert result.ends[table] == [ENCRYPTED] * count, table
        assert result.keys[table] == [Used("footer", "footer", ["id", "salary"]), Used("pii", "column", ["ssn"])], table
    assert result.readable["tables"] == result.readable["converted"] == []
    # The search finds secrets where they are readable.
    assert result.readable["plain"]


def test_the_serde_and_spark_read_what_the_other_wrote(result: Result) -> None:
    assert result.done["converted select"].rows == result.done["both"].rows == ["(80, 'ssn-9')"]


def test_the_driver_calls_the_kms_once_for_each_key(result: Result) -> None:
    assert result.calls["insert"] == ["wrap footer driver", "wrap pii driver"]
    assert result.calls["select"] == ["unwrap footer driver", "unwrap pii driver"]
    # Writes of a session share a key that wraps their keys, and the tables' properties do not part them.
    for step in ("partitions", "visits", "converted insert", "converted select"):
        assert result.calls[step] == [], step


def test_writes_without_keys_fail_and_leave_nothing(result: Result) -> None:
    assert result.done["no key"].condition == result.done["no key ctas"].condition == "PME_NO_KEY"
    assert result.done["no column"].condition == "PME_UNKNOWN_COLUMN"
    assert result.ends["before failures"] == result.ends["after failures"]
    assert "unborn" not in result.left


def test_files_that_are_not_as_the_session_says_are_refused(result: Result) -> None:
    """Also with `spark.files.ignoreCorruptFiles`, which the job's session has."""
    assert result.done["right keys"].rows == ["(80,)"]
    assert result.done["other keys"].condition == "PME_KEY_METADATA"
    assert result.done["plaintext"].condition == "PME_PLAINTEXT_FILE"
    assert result.done["planted file"].condition == "PME_PLAINTEXT_FILE"
    assert result.done["without factory"].condition == "PME_NO_KEY"


@pytest.mark.parametrize("table", ["own_t", "own_s", "javas_t", "javas_s"])
def test_a_table_that_asks_for_keys_is_not_written_in_plaintext(result: Result, table: str) -> None:
    for convert in CONVERTED:
        found = result.done[f"plain {table} {convert}"]
        assert found.condition == "PME_BAD_OPTION"
        assert "footerKey" in found.message or "parquet.encryption.footer.key" in found.message
        # The factory gets parquet-java's names. A table must not choose the rest.
        condition = "" if table.startswith("javas") else "PME_BAD_OPTION"
        assert result.done[f"nobody {table} {convert}"].condition == condition, convert
    assert result.ends[table] == ([ENCRYPTED] if table.startswith("javas") else [])
    assert result.done[f"ctas {table}"].condition == "PME_BAD_OPTION"


def test_keys_in_parquet_java_s_names_are_the_table_s(result: Result) -> None:
    keys = [(row.master_key, row.columns) for row in result.keys["javas_t"]]
    assert keys == [(None, ["id", "salary"]), ("footer", []), ("pii", ["ssn"])]
    # Spark does not read them from a table of its own.
    for who in ("plain", "nobody"):
        found = result.done[f"{who} of_spark"]
        assert found.condition == "PME_BAD_OPTION"
        assert "parquet.encryption.footer.key" in found.message


@pytest.mark.parametrize("table", hive_serde_job.PLANTED)
def test_a_table_does_not_choose_a_kms_or_what_is_accepted(result: Result, table: str) -> None:
    setting, kind = hive_serde_job.PLANTED[table]
    for convert in CONVERTED:
        for statement in ("read", "write"):
            outcome = result.done[f"{statement} {table} {convert}"]
            # Spark itself does not read properties that have other beginnings.
            if convert == "true" and kind == hive_serde_job.TABLE and not setting.startswith("parquet."):
                ignored = setting.startswith("hadoop.") or statement == "read"
                assert ignored or outcome.condition == "PME_BAD_OPTION", (statement, convert)
            else:
                assert outcome.condition == "PME_BAD_OPTION", (statement, convert)
                assert setting in outcome.message
    assert set(result.ends[table]) <= {ENCRYPTED}


def test_options_of_a_table_of_spark_do_not_choose_what_is_accepted(result: Result) -> None:
    for statement in ("read", "write"):
        found = result.done[f"{statement} lax"]
        assert found.condition == "PME_BAD_OPTION"
        assert "pme-parquet.plaintextFiles" in found.message


def test_what_one_session_has_cached_by_the_serde_answers_no_other(result: Result) -> None:
    assert result.done["cached by itself"].rows == ["(80,)"]
    assert result.done["cached by another"].condition == "PME_NO_KEY"
    assert result.done["cached with other keys"].condition == "PME_KEY_METADATA"


@needs.spark((4, 0), "Spark 3.5 runs no rule of ours before it drops them")
def test_options_that_spark_drops_are_refused(result: Result) -> None:
    for step in ("options of a read", "options of an insert"):
        assert result.done[step].condition == "PME_BAD_OPTION", step
        # Spark 4.1 hands over the names of an insert's options in small letters.
        assert "pme-parquet.columnkeys" in result.done[step].message.lower()


def test_tables_of_orc_are_not_written_in_plaintext_next_to_encrypted_ones(result: Result) -> None:
    for step in ("orc false", "orc true", "orc directory"):
        assert result.done[step].condition == "PME_BAD_OPTION", step
    assert result.left == []


def test_a_session_may_trust_a_table(result: Result) -> None:
    assert result.done["trusted"].rows == ["(40,)"]
    found = result.done["not trusted"]
    assert found.condition == "PME_BAD_OPTION"
    assert "trustedTables to spark_catalog.default.plain" in found.message
