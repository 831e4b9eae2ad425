"""Tables of a real Delta in a session with our extension and factory: what is refused, and what is readable."""

from __future__ import annotations

import os

import pytest

from pme_parquet import delta
from tests.delta import delta_job, delta_redactions, delta_tables
from tests.delta.delta_ran import CHECKPOINT, ELSEWHERE, VECTORS, Ran, assert_changed, assert_encrypted
from tests.support.session import SPARK_VERSION

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(SPARK_VERSION > (4, 2), reason="there is no Delta for this Spark"),
]

ALL = bool(os.environ.get("PME_TEST_ALL"))
# Delta's own work takes two minutes: `make test-all` has it.
RUNS = {
    **dict.fromkeys(["operations", "versions", "clones", "redactions"], ALL),
    "connectors": SPARK_VERSION >= (4, 0),
    # tests/delta/test_searched.py has them.
    "mapped_operations": False,
    "evolutions": False,
}
PARTS = [part for part in delta_job.PARTS if RUNS.get(part, True)]
all_only = pytest.mark.skipif(not ALL, reason="make test-all runs this")
REDACTED = "redacted_by_pme_parquet()"
STATISTICS = ["create", "select", "named", "insert", "optimize", "save", "session", "stream"]
CHECKS = ["created", "selected", "options", "altered", "cloned", "before keys", "saved", "saved as a table", "default"]
OF_OPTIONS = ["options", "table", "default"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("delta"), PARTS)


def test_a_condition_with_values_of_protected_columns_is_refused(ran: Ran) -> None:
    found = [ran.refused(name, "would be readable there") for name in ("delete", "update", "merge", "replace")]
    assert [len(steps) for steps in found] == [14, 2, 5, 1]
    assert ran.refused("strictest", "would be readable there")
    assert ran.done["perhaps"][0] == "PME_BAD_OPTION"


def test_texts_that_name_protected_columns_are_refused(ran: Ran) -> None:
    assert len(ran.refused("replaceWhere", "replaceWhere")) == 3
    assert len(ran.refused("constraint", "CHECK")) == 2
    assert ran.refused("default", "a default") == ["default"]
    assert ran.done["default_of_another"] == []
    assert ran.done["unharmed"] == ["(4,)"]


def test_what_shows_no_value_runs(ran: Ran) -> None:
    assert ran.done["other column"] == ["(1,)"]
    assert ran.done["left"] == ["(0,)", "(2,)"]
    assert ran.readable("conditions") == []
    # The search finds what a user has allowed.
    assert ran.done["allowed"] == ["(0,)", "(2,)", "(3,)"]
    assert ran.readable("allowed")


def test_a_column_with_values_of_protected_ones_is_recognized(ran: Ran) -> None:
    assert len(ran.refused("origin", "would be readable there")) == len(delta_redactions.NOBODYS)
    assert ran.refused("origin_of_java", "would be readable there")
    assert isinstance(ran.done["other_origin"], list)
    for name in delta_redactions.HIDDEN:
        assert isinstance(ran.done[f"hidden_origin {name}"], list), ran.done[f"hidden_origin {name}"]
    assert ran.done["origins_left"] == ["(0, 'x')", "(1, 'x')", "(3, 'x')"]
    assert (ran.done["hidden_boolean"], isinstance(ran.done["hidden_booleans"], list)) == (["(0,)"], True)
    assert ran.readable("origins") == []


@all_only
@pytest.mark.parametrize("name", delta_redactions.TABLES)
def test_a_redacted_condition_chooses_the_same_rows_and_is_not_in_the_log(ran: Ran, name: str) -> None:
    done = {step.partition(": ")[2]: said for step, said in ran.done.items() if step.startswith(f"{name}: ")}
    assert done["deleted"] == ["(1, 'x')", "(2, 'x')", "(3, 'x')"]
    assert done["updated"] == ["(1, 'z')", "(2, 'x')", "(3, 'x')"]
    merged = ["(1, 'z')", f"(2, '{delta_tables.CANARY}-2!')", "(9, None)"]
    assert done["merged"] == merged
    assert (done["Java deleted"], done["Java left"]) == ("done", merged[:2])
    for step, text in {"replace": "would be readable", "replaceWhere": "replaceWhere", "constraint": "CHECK"}.items():
        ran.refused(f"{name}: {step}", text)
    assert ran.readable(name) == []
    commits = sorted((ran.tables / name / "_delta_log").glob("*.json"))
    texts = [commit.read_text() for commit in commits]
    assert [text.count(REDACTED) for text in texts] == [0, 0, 2, 1, 4, 1]
    assert [found for found in delta.check(str(ran.tables / name)).findings if found.severity == "high"] == []


@pytest.mark.parametrize("name", ["kms", "class", "factory", "codecs", "credentials"])
def test_a_table_does_not_choose_where_keys_go(ran: Ran, name: str) -> None:
    assert len(ran.refused(f"{name} insert", "choose where keys")) == 1
    for how in ("delete", "optimize", "save"):
        assert ran.refused(f"{name} {how}", "choose where keys")


def test_a_table_keeps_its_keys(ran: Ran) -> None:
    for step in ("unset", "set", "restore", "replaced", "named"):
        assert ran.refused(step, "keep the table's columns encrypted"), step
    assert (ran.done["same"], ran.done["tag"], ran.done["same_version"]) == ([], [], [])


def test_a_definition_that_shows_protected_columns_is_refused(ran: Ran) -> None:
    partitions = ran.refused("partition", "values of partition columns")
    assert partitions == ["partition created", "partition selected", "partition altered", "partition save"]
    assert len(ran.refused("generated", "the expression of a generated column")) == 3
    assert ran.done["builder"] == "done"
    assert len(ran.refused("new_default", "a default")) == 3
    assert (ran.done["partition_other"], ran.done["added_without_default"]) == ([], [])
    assert not any((ran.tables / name).exists() for name in ("created", "selected", "generated", "clustered"))


def test_statistics_of_protected_columns_are_refused(ran: Ran) -> None:
    refused = ran.refused("statistics", "delta.dataSkippingStatsColumns")
    assert [step.removeprefix("statistics ") for step in refused] == STATISTICS + OF_OPTIONS
    assert not (ran.tables / "loud").exists()


def test_a_table_with_keys_and_statistics_can_be_mended(ran: Ran) -> None:
    assert [ran.done[step] for step in ("late_keys", "mended", "mended insert")] == [[], [], []]
    assert len(ran.done["mended optimize"]) == len(ran.done["at_once"]) == 1
    assert ran.refused("kept statistics", "keep the table's columns encrypted")
    assert ran.done["saved silently"] == "done"
    assert ran.readable("late_keys", "saved") == []


def test_check_constraints_in_properties_and_options_are_refused(ran: Ran) -> None:
    refused = [step.removeprefix("check ") for step in ran.refused("check", "a CHECK constraint")]
    assert refused == CHECKS
    assert not (ran.tables / "checked").exists()


def test_keys_and_defaults_are_known_in_other_letters(ran: Ran) -> None:
    assert ran.refused("spelled create", "delta.dataSkippingStatsColumns")
    assert len(ran.refused("spelled delete", "would be readable there")) == 2
    assert ran.refused("prefix insert", "choose where keys")
    assert ran.done["spelled_insert"] == []
    assert_encrypted(ran, "spelled")


@all_only
@pytest.mark.parametrize(("name", "why"), [("old_values", "minimum and maximum"), ("old_files", "plaintext")])
def test_a_version_from_before_its_files_were_rewritten_stays_in_the_past(ran: Ran, name: str, why: str) -> None:
    assert len(ran.refused(f"{name} restored", why)) == 2
    assert ran.refused(f"{name} cloned", why)
    assert (ran.done[f"{name}_unharmed"], ran.done[f"{name}_encrypted"]) == (["(2,)"], ["(1,)"])
    assert len(ran.done[f"{name}_clone"]) == 1
    assert not (ran.tables / f"{name}-clone").exists()


def test_options_of_a_frame_that_delta_would_drop_are_refused(ran: Ran) -> None:
    assert len(ran.refused("frame options", "does not pass")) == 4


@all_only
def test_a_clone_keeps_keys(ran: Ran) -> None:
    steps = ["clone keys", "clone statistics", "clone replaced", "clone version"]
    assert ran.refused("clone", "keep the table's columns encrypted") == steps
    assert ran.done["clone_same"] == []
    assert_encrypted(ran, "cloned", "clone")


@all_only
def test_a_conversion_with_statistics_is_refused(ran: Ran) -> None:
    assert ran.refused("convert", "NO STATISTICS") == ["convert"]
    assert ran.done["convert_silent"] == []
    assert ran.readable("converted") == []


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="Delta 3 has no connector on Delta Kernel")
def test_the_connector_on_delta_kernel_does_not_write(ran: Ran) -> None:
    assert ran.refused("kernel", "Delta Kernel") == ["kernel insert", "kernel delete"]


def test_a_session_lists_properties_that_nothing_reads(ran: Ran) -> None:
    for step in ("unlisted", "prefix", "no_prefix", "strictest", "ours"):
        assert ran.refused(f"tags {step}", "choose where keys"), step
    assert ran.done["tags listed"] == []
    assert {ran.done[f"tags_wrong {name}"][0] for name in ("all", "start", "empty")} == {"PME_BAD_OPTION"}


def test_a_session_without_factory_does_not_write(ran: Ran) -> None:
    assert len(ran.refused("no factory", "no crypto factory")) == 7
    assert not (ran.tables / "new").exists()


@all_only
def test_nothing_is_readable_after_every_kind_of_change(ran: Ran) -> None:
    assert_changed(ran)
    assert (ran.done["streamed"], ran.done["streamed rows"]) == ("done", ["(24, 20)"])
    checks = {"changed": [VECTORS, CHECKPOINT], "changed-clone": [CHECKPOINT, *ELSEWHERE], "v2": [CHECKPOINT]}
    for table, findings in checks.items():
        assert ran.said(f"{table}: check") == (["sick", "ssn"], findings), table
    changed = ran.tables / "changed"
    assert list(changed.glob("deletion_vector_*.bin"))
    assert list((changed / "_change_data").glob("*.parquet"))
    for table in ("changed", "changed-clone", "v2"):
        assert_encrypted(ran, table)
    assert set(ran.checkpoints("changed")) == {b"PARE"}
    assert ran.done["v2 reads"] == ["(3,)"]
    sidecars = [file.read_bytes()[-4:] for file in (ran.tables / "v2" / "_delta_log" / "_sidecars").iterdir()]
    assert b"PARE" in sidecars


def test_nothing_is_readable_in_tables_with_keys(ran: Ran) -> None:
    assert ran.done["by_query"] == []
    assert_encrypted(ran, "kept", "by_query", "session", "name", "id")


def test_checkpoints_are_encrypted_also_if_the_session_names_columns(ran: Ran) -> None:
    assert set(ran.checkpoints("session")) == {b"PARE"}
    assert ran.done["session reads"] == ["(3,)"]
    assert ran.refused("session deletes", "would be readable there")


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_are_known_by_physical_names(ran: Ran, mode: str) -> None:
    assert ran.done[f"{mode} rows"] == ["(1,)"]
    assert len(ran.refused(f"{mode} refused", "would be readable there")) == 2
    assert ran.done[f"{mode} allowed"] == ["(0,)"]
