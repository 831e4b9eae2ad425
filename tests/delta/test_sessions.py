"""Tables of a real Delta in a session with our extension and factory: what is refused, and what is readable."""

from __future__ import annotations

import pytest

from pme_parquet import delta
from tests.delta import delta_job, delta_redactions, delta_tables
from tests.delta.delta_ran import CHECKPOINT, ELSEWHERE, VECTORS, Ran, assert_changed, assert_encrypted
from tests.support import needs
from tests.support.session import SPARK_VERSION

pytestmark = [pytest.mark.slow, needs.delta, pytest.mark.oldest]

# Delta's own work takes two minutes: `make test-all` has it.
RUNS = {
    **dict.fromkeys(["concurrent", "operations", "versions", "clones", "redactions"], needs.ALL),
    "connectors": SPARK_VERSION >= (4, 0),
    # tests/delta/test_searched.py has them.
    "mapped_operations": False,
    "evolutions": False,
}
PARTS = [part for part in delta_job.PARTS if RUNS.get(part, True)]
REDACTED = "redacted_by_pme_parquet()"
STATISTICS = {"created", "named", "insert", "save", "session", "unset", "default"} | (
    {"select", "optimize", "stream", "table"} if needs.ALL else set()
)
CHECKS = ["created", "cloned", "before keys", "saved", *(("selected", "saved as a table") if needs.ALL else ())]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("delta"), PARTS)


BY_VALUE = {"delete equal": 1, "update": 1} | ({"update view": 1} if needs.ALL else {})


def test_rows_are_changed_by_values_of_protected_columns_which_are_not_in_the_log(ran: Ran) -> None:
    for step in delta_job.BY_VALUE:
        assert ran.done[step].rows, (step, ran.done[step])
    assert {step: ran.done[step].rows for step in BY_VALUE} == {step: [f"({rows},)"] for step, rows in BY_VALUE.items()}
    replaced = ("replaceWhere", "replace") if needs.ALL else ("replace",)
    assert [ran.done[step].rows for step in replaced] == [[] for _ in replaced]
    other = "m" if needs.ALL else "x"
    assert ran.done["left by value"].rows == [f"(0, '{other}')", "(2, 'm')", f"(3, '{other}')", "(9, 'y')"]
    assert ran.readable("conditions") == []
    logs = (ran.tables / "conditions" / "_delta_log").glob("*.json")
    assert sum(REDACTED in log.read_text() for log in logs) == len(delta_job.COMMITTED)


def test_texts_that_name_protected_columns_are_refused(ran: Ran) -> None:
    assert ran.refused("constraint", "CHECK") == ["constraint", "constraint function"][: 2 if needs.ALL else 1]
    assert ran.refused("default", "a default") == ["default"]
    assert ran.done["default_of_another"].rows == []


def test_a_commit_that_no_code_names_shows_nothing(ran: Ran) -> None:
    assert ran.done["invented"].rows == []
    assert ran.done["history"].rows == [f"('INVENTED STATEMENT', '{REDACTED}')"]


@needs.test_all
def test_writers_at_once_lose_nothing_and_show_nothing(ran: Ran) -> None:
    assert [ran.done[f"writer {at} {step}"].rows for at in range(delta_job.WRITERS) for step in range(3)] == [[]] * 12
    rows = [(delta_job.FIRST_WRITER + writer, f"{delta_tables.CANARY}-writer-{writer}") for writer in range(4)]
    assert ran.done["written at once"].rows == [f"({at}, '{value}', 'zm')" for at, value in rows]
    assert_encrypted(ran, "concurrent")
    logs = (ran.tables / "concurrent" / "_delta_log").glob("*.json")
    assert sum(REDACTED in log.read_text() for log in logs) == 2 * delta_job.WRITERS


def test_a_session_may_keep_texts(ran: Ran) -> None:
    assert ran.done["allowed"].rows == ran.done["stricter"].rows == ["(1,)"]
    # The search finds what a user has allowed.
    assert ran.readable("allowed")
    assert ran.done["perhaps"].condition == "PME_BAD_OPTION"


@needs.test_all
@pytest.mark.parametrize("name", delta_redactions.TABLES)
def test_a_redacted_condition_chooses_the_same_rows_and_is_not_in_the_log(ran: Ran, name: str) -> None:
    done = {step.partition(": ")[2]: found for step, found in ran.done.items() if step.startswith(f"{name}: ")}
    assert done["deleted"].rows == ["(1, 'x')", "(2, 'x')", "(3, 'x')"]
    assert done["updated"].rows == ["(1, 'z')", "(2, 'x')", "(3, 'x')"]
    merged = ["(1, 'z')", f"(2, '{delta_tables.CANARY}-2!')", "(9, None)"]
    assert done["merged"].rows == merged
    assert (done["Java deleted"].rows, done["Java left"].rows) == ([], merged[:2])
    assert done["replace"].rows == done["replaceWhere"].rows == []
    assert done["constraint"].condition in {"PME_UNSUPPORTED", "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION"}
    assert ran.readable(name) == []
    commits = sorted((ran.tables / name / "_delta_log").glob("*.json"))
    texts = [commit.read_text() for commit in commits]
    assert [text.count(REDACTED) for text in texts] == [0, 0, 1, 1, 4, 1, 1, 1]
    assert [found for found in delta.check(str(ran.tables / name)).findings if found.severity == "high"] == []


@pytest.mark.parametrize("name", ["kms", "class", "factory", "codecs", "credentials"])
def test_a_table_does_not_choose_where_keys_go(ran: Ran, name: str) -> None:
    for how in delta_job.WAYS_TO_CHANGE[name]:
        assert ran.refused(f"{name} {how}", "choose where keys")


def test_a_property_that_only_the_metastore_has_refuses_no_change(ran: Ran) -> None:
    for step in ("delete", "update") if needs.ALL else ("delete",):
        assert ran.done[f"purged {step}"].rows == ["(1,)"]
    if needs.ALL:
        assert ran.done["purged merge"].rows == ["(2, False)"]


def test_a_table_keeps_its_keys(ran: Ran) -> None:
    for step in ("unset", "restore"):
        assert ran.refused(step, "keep the table's columns encrypted"), step
    # Delta 3 cannot replace these tables by a query, whatever their keys.
    for step in ("replaced", "replaced as", "named replaced", "named overwritten"):
        condition = ran.done[step].condition
        assert condition.isupper() or condition.startswith("_LEGACY"), ran.done[step]
    if SPARK_VERSION >= (4, 0):
        assert ran.refused("replaced as", "keep the table's columns encrypted")
        assert ran.refused("named replaced", "keep the table's columns encrypted")
    assert ran.done["set"].rows == []
    assert ran.refused("loud insert", "minimum and maximum")
    same = ("same", "tag", "same_version") if needs.ALL else ("same", "tag")
    assert [ran.done[step].rows for step in same] == [[] for _ in same]


def test_a_definition_that_shows_protected_columns_is_refused(ran: Ran) -> None:
    partitions = ran.refused("partition", "values of partition columns")
    ways = ("created", *(("selected",) if needs.ALL else ()), "altered", "replaced", "save")
    assert partitions == [f"partition {way}" for way in ways]
    assert list((ran.tables / "replaced").glob("ssn=*")) == []
    assert len(ran.refused("generated altered", "the expression of a generated column")) == 1
    built = "generated built" if SPARK_VERSION < (4, 0) else "generated create"
    assert ran.refused(built, "the expression of a generated column")
    assert ran.done["builder"].rows == []
    assert ran.refused("new_default create", "a default")
    # Delta does not support them.
    added = ("added", "uniform") if needs.ALL else ("uniform",)
    assert {ran.done[f"new_default {name}"].condition.split("_")[0] for name in added} == {"WRONG"}
    assert ran.done["partition_other"].rows == ran.done["added_without_default"].rows == []
    assert not any((ran.tables / name).exists() for name in ("selected", "generated", "clustered", "default"))


def test_statistics_of_protected_columns_are_refused(ran: Ran) -> None:
    refused = ran.refused("statistics", "delta.dataSkippingStatsColumns")
    assert {step.removeprefix("statistics ") for step in refused} >= STATISTICS
    assert ran.readable("created", "named", "late_keys", "loud") == []


def test_a_table_with_keys_and_statistics_can_be_mended(ran: Ran) -> None:
    assert [ran.done[step].rows for step in ("late_keys", "mended", "mended insert")] == [[], [], []]
    for step in ("mended optimize", "at_once") if needs.ALL else ("mended optimize",):
        assert len(ran.done[step].rows or []) == 1, step
    assert ran.done["saved silently"].rows == []
    assert ran.readable("late_keys", "saved") == []


def test_check_constraints_in_properties_and_options_are_refused(ran: Ran) -> None:
    for step in CHECKS:
        assert ran.refused(f"check {step}", "a CHECK constraint"), step
    # Delta does not take the default, so it is not in the log.
    assert ran.done["check default"].rows == []
    assert ran.readable("checked-default") == []
    # Delta makes a property of the option, under its own name or another.
    assert ran.done["check options"].condition == "PME_UNSUPPORTED"
    # Delta itself refuses it.
    assert ran.done["check altered"].condition == "DELTA_ADD_CONSTRAINTS"
    assert not list((ran.tables / "checked").glob("_delta_log/*.json"))
    assert ran.readable("checked") == []


def test_keys_and_defaults_are_known_in_other_letters(ran: Ran) -> None:
    assert ran.refused("spelled insert", "delta.dataSkippingStatsColumns")
    assert ran.done["spelled_delete"].rows == ["(1,)"]
    assert ran.refused("prefix insert", "choose where keys")
    assert ran.done["spelled_insert"].rows == []
    assert_encrypted(ran, "spelled")


@needs.test_all
@pytest.mark.parametrize(("name", "why"), [("old_values", "minimum and maximum"), ("old_files", "plaintext")])
def test_a_version_from_before_its_files_were_rewritten_stays_in_the_past(ran: Ran, name: str, why: str) -> None:
    assert len(ran.refused(f"{name} restored", why)) == 2
    assert ran.refused(f"{name} cloned", why)
    assert (ran.done[f"{name}_unharmed"].rows, ran.done[f"{name}_encrypted"].rows) == (["(2,)"], ["(1,)"])
    assert len(ran.done[f"{name}_clone"].rows or []) == 1
    assert not (ran.tables / f"{name}-clone").exists()


def test_options_of_a_frame_that_delta_would_drop_are_refused(ran: Ran) -> None:
    assert len(ran.refused("frame options", "does not pass")) == (4 if needs.ALL else 3)


@needs.test_all
def test_a_clone_keeps_keys(ran: Ran) -> None:
    assert ran.refused("clone keys", "minimum and maximum")
    assert ran.refused("statistics clone", "minimum and maximum")
    # The destination is not empty.
    assert ran.done["clone replaced"].condition.startswith("DELTA_"), ran.done["clone replaced"]
    # The version is from before the table had keys.
    assert ran.refused("clone version", "keep the table's columns encrypted")
    assert ran.done["clone_same"].rows == []
    assert_encrypted(ran, "cloned", "clone")


@needs.test_all
def test_a_conversion_with_statistics_is_refused(ran: Ran) -> None:
    assert ran.refused("convert", "NO STATISTICS") == ["convert"]
    assert ran.done["convert_silent"].rows == []
    assert ran.readable("converted") == []


@needs.spark((4, 0), "Delta 3 has no connector on Delta Kernel")
def test_the_connector_on_delta_kernel_does_not_write(ran: Ran) -> None:
    assert ran.refused("kernel insert", "Delta Kernel") == ["kernel insert"]
    # Spark itself refuses it: the connector has no deletes.
    assert "does not support deletes" in ran.done["kernel delete"].message


def test_a_session_lists_properties_that_nothing_reads(ran: Ran) -> None:
    for step in ("create", "unlisted", *(("prefix",) if needs.ALL else ()), "no_prefix", "strictest", "ours"):
        assert ran.refused(f"tags {step}", "choose where keys"), step
    assert ran.done["tags listed"].rows == ran.done["tags_read"].rows == []
    wrong = ("all", "start", "empty") if needs.ALL else ("all",)
    assert {ran.done[f"tags_wrong {name}"].condition for name in wrong} == {"PME_BAD_OPTION"}


def test_a_session_without_factory_does_not_write(ran: Ran) -> None:
    assert len(ran.refused("no factory", "no crypto factory")) == (8 if needs.ALL else 6)
    assert not (ran.tables / "new").exists()


@needs.test_all
def test_nothing_is_readable_after_every_kind_of_change(ran: Ran) -> None:
    assert_changed(ran)
    assert (ran.done["streamed"].rows, ran.done["streamed rows"].rows) == ([], ["(24, 20)"])
    checks = {"changed": [VECTORS, CHECKPOINT], "changed-clone": [CHECKPOINT, *ELSEWHERE], "v2": [CHECKPOINT]}
    for table, findings in checks.items():
        found = ran.checks[f"{table}: check"]
        assert (found.columns, found.kinds) == (("sick", "ssn"), findings), table
    changed = ran.tables / "changed"
    assert list(changed.glob("deletion_vector_*.bin"))
    assert list((changed / "_change_data").glob("*.parquet"))
    for table in ("changed", "changed-clone", "v2"):
        assert_encrypted(ran, table)
    assert set(ran.checkpoints("changed")) == {b"PARE"}
    assert ran.done["v2 reads"].rows == ["(3,)"]
    sidecars = [file.read_bytes()[-4:] for file in (ran.tables / "v2" / "_delta_log" / "_sidecars").iterdir()]
    assert b"PARE" in sidecars


def test_nothing_is_readable_in_tables_with_keys(ran: Ran) -> None:
    assert ran.done["by_query"].rows == []
    assert_encrypted(ran, "kept", "by_query", "session", *delta_job.MODES)


def test_checkpoints_are_encrypted_also_if_the_session_names_columns(ran: Ran) -> None:
    assert set(ran.checkpoints("session")) == {b"PARE"}
    assert ran.done["session reads"].rows == ["(2,)"]
    assert ran.done["session deletes"].rows == ["(1,)"]


@pytest.mark.parametrize("mode", delta_job.MODES)
def test_columns_are_known_by_physical_names(ran: Ran, mode: str) -> None:
    assert ran.done[f"{mode} deleted"].rows == ["(1,)"]
    assert ran.done[f"{mode} deleted again"].rows == ran.done[f"{mode} other"].rows == ["(0,)"]
