"""Tables of a real Hive metastore: written by one JVM, and read and migrated by another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.orc import hive_job
from tests.orc.hive_job import Filled, Moved, Used
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
def filled(work: Path) -> Filled:
    return result_of(hive_job, Filled, str(work), "fill")


@pytest.fixture(scope="module")
def used(work: Path, filled: Filled) -> Used:
    assert filled.done
    return result_of(hive_job, Used, str(work), "use")


def test_statements_of_hive_and_spark_write_encrypted_files(filled: Filled) -> None:
    assert filled.readable["tables"] == []
    # The search finds secrets where they are readable.
    assert filled.readable["plain"]
    assert filled.done["copied"].rows == PEOPLE
    assert filled.done["partitions"].rows == [f"('day=d{at}',)" for at in range(5)]
    assert {"('min', 'NULL')", "('num_nulls', '0')"} <= set(filled.done["statistics"].rows or [])
    assert filled.done["untrusted"].condition == "PME_BAD_OPTION"
    assert "trustedTables" in filled.done["untrusted"].message
    # Spark does not say which property such a table has.
    assert filled.done["ctas of ours"].condition == "PME_UNSUPPORTED"
    assert "INSERT" in filled.done["ctas of ours"].message


def test_what_spark_leaves_to_hive_s_serde_is_refused(filled: Filled) -> None:
    for statement, settings in LEFT_TO_SERDE.items():
        for setting in settings:
            found = filled.done[f"serde {statement} {setting}"]
            assert found.condition == "PME_UNSUPPORTED"
            assert "does not encrypt ORC files" in found.message
            assert f"Set spark.sql.hive.{setting} to true" in found.message
    for statement in ("read", "read unnamed", "count", "subquery"):
        found = filled.done[f"serde {statement} convertMetastoreOrc"]
        assert found.condition == "PME_UNSUPPORTED"
        assert "masks" in found.message
        assert "Set spark.sql.hive.convertMetastoreOrc to true" in found.message
    by_day = filled.done["serde by_day"]
    assert (by_day.condition, "Create the table first" in by_day.message) == ("PME_UNSUPPORTED", True)
    assert filled.readable["serde"] == []
    assert filled.done["serde tables"].rows == []
    assert filled.done["plain"].rows == ["(40,)"]


def test_another_jvm_reads_the_tables_with_the_settings_of_its_session(used: Used) -> None:
    more = sorted([*PEOPLE, "(40, 'ssn-40', 60.0)"])
    tables = {"people": PEOPLE, "visits": VISITS, "ours": OURS, "copied": more, "copied_ours": PEOPLE}
    assert {name: used.done[name].rows for name in tables} == tables
    assert used.done["filtered"].rows == ["(7, 10.5)"]
    assert used.done["joined"].rows == ["(40,)"]
    assert used.done["added"].rows == ["(None, 40)"]
    # The master key in ORC is no key of the KMS.
    assert used.calls == ["unwrap w-hive driver"]


def test_readers_without_the_key_or_with_another_one_are_refused(used: Used) -> None:
    assert used.done["analyst"].condition == "PME_KEY_DENIED"
    assert "w-hive" in used.done["analyst"].message
    assert used.done["analyst other"].rows == ["(7,)"]
    assert used.done["stranger"].condition == "PME_NOT_AUTHENTIC"
    assert "'ssn' does not open with key 'hive@0'" in used.done["stranger"].message
    assert used.done["nobody"].condition == "PME_KEY_DENIED"


def test_hive_s_implementation_of_orc_in_spark_gets_keys_too(used: Used) -> None:
    assert used.done["impl read"].rows == PEOPLE
    assert used.done["impl write"].rows == []
    assert used.readable == []


def test_tables_of_the_metastore_migrate_and_transactional_ones_are_refused(used: Used) -> None:
    for name, rows in {"people": PEOPLE, "visits": VISITS, "ours": OURS}.items():
        assert used.moved[name] == Moved(len(rows), ["salary", "ssn"], is_equal=True, readable=[])
    # One says it in its properties, the other one by its directories.
    for name, place in {"acid": "default.acid: ", "deltas": "/deltas/delta_"}.items():
        refused = used.done[f"refused {name}"]
        assert refused.condition == "PME_UNSUPPORTED"
        assert "ACID" in refused.message
        assert place in refused.message
