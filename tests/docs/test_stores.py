"""The tables of operations, stores and faults in docs/storage.md: each cell that says so has a test."""

from __future__ import annotations

import re

from tests.docs.named import functions_in
from tests.support.markdown import ROOT

STORES = ("S3A", "HDFS", "Google", "ABFS")
OURS = {
    "S3A": "storage/{}",
    "HDFS": "storage/hdfs/{}",
    "Google": "storage/clouds/test_google",
    "ABFS": "storage/clouds/test_azure",
}
# Operations that each store has the same test of, by the first words of their row.
OPERATIONS = {
    "write, append": "test_writes_and_reads",
    "streams": "test_streams",
    "copies": "test_copies",
    "migration from ORC": "test_a_migration_of_orc",
}
# `make test` tries these on one of two stores.
NIGHTLY = {
    ("test_streams", "HDFS"): "test_operations_of_s3a",
    ("test_copies", "HDFS"): "test_operations_of_s3a",
    ("test_a_migration_of_orc", "S3A"): "test_operations_of_hdfs",
}
S3, SEALED, HDFS = "storage/test_requests", "snapshots/test_object_stores", "storage/hdfs/test_leases"
GOOGLE, ABFS = "storage/clouds/test_google", "storage/clouds/test_azure"
STOPS, FAULTS, READS = "test_a_store_that_stops", "storage/test_faults", "storage/test_faulty_reads"
KILLED, OF_HDFS = "storage/hdfs/test_killed::test_a_killed_operation", "storage/hdfs/test_faults"
FAULTY_READ = "test_a_read_that_meets_a_fault_returns_all_or_fails"
STOPPED_COPY = "test_a_copy_whose_store_stops_appears_whole_or_no_reader_takes_it"
DELTA, CHANGED = "delta/test_stores", "test_an_encrypted_table_is_written_changed_and_read"
BROKEN_OFF = "test_a_table_in_plaintext_is_encrypted_by_the_run_after_one_that_broke_off"
ICEBERG, COMPACTED = "iceberg/test_stores", "test_a_table_is_written_changed_compacted_and_read"
MANY = "test_hundreds_of_small_files_cost_no_more_than_with_sparks_own"
SEVERAL = "test_of_several_that_seal_at_once_each_version_is_made_by_one"
RACES, SAME = "test_races", "test_two_that_do_the_same_at_once_lose_nothing"
FIRST_COPY = "test_the_first_finished_of_two_copies_to_one_target_wins"
TWO = "test_of_two_that_seal_at_once_one_wins_and_the_other_can_go_on"

# The tests of a row, by store, and none where none ran.
ROWS: dict[str, tuple[str | None, str | None, str | None, str | None]] = {
    "`rotate`": (
        "storage/test_operations::test_rotations",
        "storage/hdfs/test_operations::test_rotations",
        f"{GOOGLE}::test_rotations",
        f"{ABFS}::test_a_rotation_is_refused",
    ),
    "`encrypt(in_place=True)`": (
        "storage/test_operations::test_in_place",
        "storage/hdfs/test_operations::test_in_place",
        f"{GOOGLE}::test_in_place",
        f"{ABFS}::test_an_encryption_in_place_is_refused",
    ),
    "seal, append": (
        f"{SEALED}::test_a_table_is_sealed_read_appended_to_and_expired",
        f"{HDFS}::{SEVERAL}",
        f"{GOOGLE}::test_a_table_is_sealed",
        f"{ABFS}::test_a_table_is_sealed",
    ),
    "several that seal": (
        f"{SEALED}::{TWO}",
        f"{HDFS}::{SEVERAL}",
        f"{GOOGLE}::test_a_seal_wins_once",
        f"{ABFS}::test_a_seal_wins_once",
    ),
    "of two copies": (
        f"storage/{RACES}::{FIRST_COPY}",
        f"storage/hdfs/{RACES}::{FIRST_COPY}",
        f"{GOOGLE}::{FIRST_COPY}",
        f"{ABFS}::{FIRST_COPY}",
    ),
    "two rotations": (
        f"storage/{RACES}::{SAME}",
        f"storage/hdfs/{RACES}::{SAME}",
        f"{GOOGLE}::{SAME}",
        f"{ABFS}::test_a_rotation_is_refused",
    ),
    "the store stops during `encrypt`,": (
        f"{FAULTS}::{STOPPED_COPY}",
        "storage/hdfs/test_killed::test_a_killed_copy_appears_whole_or_not_at_all",
        f"{GOOGLE}::{STOPPED_COPY}",
        f"{ABFS}::{STOPPED_COPY}",
    ),
    "`inspect`": (
        "storage/test_settings::test_a_sessions_settings_reach_the_store_without_spark",
        "storage/hdfs/test_inspect::test_through_the_session",
        f"{GOOGLE}_inspect::test_as_the_session_reaches_it",
        f"{ABFS}_inspect::test_as_the_session_reaches_it",
    ),
    "1,000 small": (f"{S3}::{MANY}", f"storage/hdfs/test_requests::{MANY}", None, None),
    "a Delta table": (f"{DELTA}::{CHANGED}", f"{DELTA}::{CHANGED}", None, None),
    "`delta.encrypt_table`": (f"{DELTA}::{BROKEN_OFF}", f"{DELTA}::{BROKEN_OFF}", None, None),
    "an Iceberg table": (f"{ICEBERG}::{COMPACTED}", f"{ICEBERG}::{COMPACTED}", None, None),
    "the store stops during a sealing": (f"{FAULTS}::{STOPS}", KILLED, f"{GOOGLE}::{STOPS}", f"{ABFS}::{STOPS}"),
    "the store stops during `rotate`": (
        f"{FAULTS}::{STOPS}",
        KILLED,
        f"{GOOGLE}::{STOPS}",
        f"{ABFS}::test_a_rotation_is_refused",
    ),
    "one failure": (
        f"{FAULTS}::test_a_fault_that_passes",
        f"{OF_HDFS}::test_an_operation_that_meets_a_fault_loses_nothing",
        f"{GOOGLE}::test_a_failure_that_passes",
        f"{ABFS}::test_a_failure_that_passes",
    ),
    "a read meets": (
        f"{READS}::test_a_fault_that_passes_costs_no_row",
        f"{OF_HDFS}::{FAULTY_READ}",
        f"{GOOGLE}::{FAULTY_READ}",
        f"{ABFS}::{FAULTY_READ}",
    ),
    "the store stops during a read": (
        f"{READS}::test_a_store_that_stops_costs_no_row",
        f"{OF_HDFS}::{FAULTY_READ}",
        f"{GOOGLE}::{FAULTY_READ}",
        f"{ABFS}::{FAULTY_READ}",
    ),
    "a listing without": (f"{READS}::test_a_listing_that_lacks_a_file", None, None, None),
    "a process is killed": (None, KILLED, None, None),
    "a user may not write": (None, "storage/hdfs/test_permissions::test_who_may_only_read", None, None),
    "a file is still open": (None, f"{HDFS}::test_the_error_names_the_file_that_is_incomplete", None, None),
}


def rows() -> dict[str, list[str]]:
    """Return the cells of both tables, by the first one of each row."""
    page = (ROOT / "docs" / "storage.md").read_text(encoding="utf-8")
    found = {}
    for heading in ("Operation", "Fault"):
        table = page.partition(f"| {heading} | {' | '.join(STORES)} |\n")[2].partition("\n\n")[0]
        for line in table.splitlines()[1:]:
            first, *others = [cell.strip() for cell in line.strip("|").split("|")]
            found[first] = others
    return found


def of_row(first: str) -> list[str | None]:
    """Return the tests that a row stands for, by store."""
    for words, name in OPERATIONS.items():
        if first.startswith(words):
            return [f"{OURS[store].format(NIGHTLY.get((name, store), 'test_operations'))}::{name}" for store in STORES]
    [found] = [tests for words, tests in ROWS.items() if first.startswith(words)]
    return list(found)


def is_there(test: str) -> bool:
    """Return whether a module defines a test, or imports it."""
    module, _, name = test.partition("::")
    return name in functions_in(f"tests/{module}.py")


def test_what_the_tables_of_stores_say_is_what_tests_run() -> None:
    said = rows()
    assert len(said) == len(OPERATIONS) + len(ROWS)
    for first, cells in said.items():
        tests = of_row(first)
        for store, cell, test in zip(STORES, cells, tests, strict=True):
            where = f"{first}, {store}: {cell}"
            assert cell in {"passed", "refused", "not run"}, where
            assert (cell == "not run") == (test is None), where
            assert test is None or is_there(test), where
            assert (cell == "refused") == bool(test and re.search("refused$", test)), where
