"""Tables of a real Hive metastore: written by one JVM, and read and migrated by another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.orc import hive_job
from tests.support.processes import result_of
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

PEOPLE = sorted(repr((at, f"ssn-{at}", at * 1.5)) for at in range(40))
VISITS = sorted(repr((at, f"ssn-{at}", at * 1.5, f"d{at % 2}")) for at in range(40))
OURS = sorted(
    repr(row)
    for row in [
        *((at, f"ssn-{at}", at * 1.5, None, "d0") for at in range(0, 40, 2)),
        *((at, f"ssn-{at}", at * 1.5, None, "d1") for at in range(4)),
        *((8, "ssn-8", 12.0, "new", day) for day in ("d2", "d3", "d4")),
    ]
)
# What Spark leaves to the SerDe: statements, and the settings that make it do so.
LEFT_TO_SERDE = {
    "insert": ["convertMetastoreOrc"],
    "overwrite": ["convertMetastoreOrc"],
    "unnamed": ["convertMetastoreOrc"],
    "static": ["convertMetastoreOrc"],
    "dynamic": ["convertMetastoreOrc", "convertInsertingPartitionedTable"],
    "ctas": ["convertMetastoreOrc", "convertMetastoreCtas"],
    "directory": ["convertMetastoreOrc", "convertMetastoreInsertDir"],
}
if SPARK_VERSION >= (4, 0):
    LEFT_TO_SERDE["insert"] = ["convertMetastoreOrc", "convertInsertingUnpartitionedTable"]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hive")


@pytest.fixture(scope="module")
def filled(work: Path) -> dict[str, Any]:
    """Return what came of the job that writes."""
    found: dict[str, Any] = result_of(hive_job, str(work), "fill")
    return found


@pytest.fixture(scope="module")
def used(work: Path, filled: dict[str, Any]) -> dict[str, Any]:
    """Return what came of the job that reads."""
    assert filled
    found: dict[str, Any] = result_of(hive_job, str(work), "use")
    return found


def test_statements_of_hive_and_spark_write_encrypted_files(filled: dict[str, Any]) -> None:
    assert filled["readable"] == []
    # The search finds secrets where they are readable.
    assert filled["plain readable"]
    assert filled["copied"] == PEOPLE
    assert filled["partitions"] == [f"('day=d{at}',)" for at in range(5)]
    assert {"('min', 'NULL')", "('num_nulls', '0')"} <= set(filled["statistics"])
    assert filled["untrusted"][0] == "PME_BAD_OPTION"
    assert "trustedTables" in filled["untrusted"][1]
    # Spark does not say which property such a table has.
    assert filled["ctas of ours"][0] == "PME_UNSUPPORTED"
    assert "INSERT" in filled["ctas of ours"][1]


def test_what_spark_leaves_to_hive_s_serde_is_refused(filled: dict[str, Any]) -> None:
    for statement, settings in LEFT_TO_SERDE.items():
        for setting in settings:
            condition, message = filled[f"serde {statement} {setting}"]
            assert condition == "PME_UNSUPPORTED"
            assert "does not encrypt ORC files" in message
            assert f"Set spark.sql.hive.{setting} to true" in message
    for statement in ("read", "read unnamed", "count", "subquery"):
        condition, message = filled[f"serde {statement} convertMetastoreOrc"]
        assert condition == "PME_UNSUPPORTED"
        assert "masks" in message
        assert "Set spark.sql.hive.convertMetastoreOrc to true" in message
    condition, message = filled["serde by_day"]
    assert (condition, "Create the table first" in message) == ("PME_UNSUPPORTED", True)
    assert filled["serde readable"] == []
    assert filled["serde tables"] == []
    assert filled["plain"] == ["(40,)"]


def test_another_jvm_reads_the_tables_with_the_settings_of_its_session(used: dict[str, Any]) -> None:
    more = sorted([*PEOPLE, "(40, 'ssn-40', 60.0)"])
    tables = {"people": PEOPLE, "visits": VISITS, "ours": OURS, "copied": more, "copied_ours": PEOPLE}
    assert {name: used[name] for name in tables} == tables
    assert used["filtered"] == ["(7, 10.5)"]
    assert used["joined"] == ["(40,)"]
    assert used["added"] == ["(None, 40)"]
    # The master key in ORC is no key of the KMS.
    assert used["calls people"] == ["unwrap w-hive driver"]


def test_readers_without_the_key_or_with_another_one_are_refused(used: dict[str, Any]) -> None:
    assert used["analyst"][0] == "PME_KEY_DENIED"
    assert "w-hive" in used["analyst"][1]
    assert used["analyst other"] == ["(7,)"]
    assert used["stranger"][0] == "PME_NOT_AUTHENTIC"
    assert "'ssn' does not open with key 'hive@0'" in used["stranger"][1]
    assert used["nobody"][0] == "PME_KEY_DENIED"


def test_hive_s_implementation_of_orc_in_spark_gets_keys_too(used: dict[str, Any]) -> None:
    assert used["impl read"] == PEOPLE
    assert used["impl write"] == []
    assert used["impl readable"] == []


def test_tables_of_the_metastore_migrate_and_transactional_ones_are_refused(used: dict[str, Any]) -> None:
    for name, rows in {"people": PEOPLE, "visits": VISITS, "ours": OURS}.items():
        assert used[f"moved {name}"] == [len(rows), ["salary", "ssn"]]
        assert used[f"equal {name}"]
        assert used[f"readable {name}"] == []
    # One says it in its properties, the other one by its directories.
    for name, place in {"acid": "default.acid: ", "deltas": "/deltas/delta_"}.items():
        condition, message = used[f"refused {name}"]
        assert condition == "PME_UNSUPPORTED"
        assert "ACID" in message
        assert place in message
