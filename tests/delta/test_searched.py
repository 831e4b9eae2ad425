"""Everything below tables of a real Delta is searched, after column mapping, schema evolution and VACUUM.

What is readable is what `check` says.
"""

from __future__ import annotations

import pytest

from tests.delta.delta_evolutions import KINDS, MODES, OPEN, SHOWN, WIDE
from tests.delta.delta_ran import CHECKPOINT, ELSEWHERE, VECTORS, Ran, assert_changed, assert_encrypted
from tests.delta.delta_tables import CANARY
from tests.support import needs
from tests.support.canary import files_under
from tests.support.metastore import Outcome

pytestmark = [pytest.mark.slow, needs.delta, needs.test_all, pytest.mark.oldest]

PATIENCE = 1800
EVOLVING = {"": "evolving", "name": "evolvingname"}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("searched"), ["mapped_operations", "evolutions"], PATIENCE)


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_readable_under_column_mapping(ran: Ran, mode: str) -> None:
    name = f"mapped-{mode}"
    assert_changed(ran, f"{name}: ")
    assert (ran.done[f"{name}: streamed"].rows, ran.done[f"{name}: streamed rows"].rows) == ([], ["(21, 21)"])
    assert sorted(ran.result.emptied[name].kinds) == ["change data", "deletion vectors"]
    assert ran.result.emptied[name].readable == []
    assert_encrypted(ran, name, f"{name}-clone", f"{name}-streamed")
    assert set(ran.checkpoints(name)) == {b"PARE"}


@pytest.mark.parametrize("mode", MODES)
def test_check_says_the_same_of_a_mapped_table_its_clone_and_the_streamed_one(ran: Ran, mode: str) -> None:
    name = f"mapped-{mode}"
    expected = {"": [VECTORS, CHECKPOINT], "-clone": [CHECKPOINT, *ELSEWHERE], "-streamed": []}
    for kind, findings in expected.items():
        found = ran.checks[f"{name}{kind}: check"]
        assert (found.columns, found.kinds) == (("sick", "ssn"), findings), kind
    last = ran.checks[f"{name}: check at last"]
    assert (last.columns, last.kinds) == (("other", "sick"), [VECTORS, CHECKPOINT])


@pytest.mark.parametrize("mode", MODES)
def test_vacuum_deletes_what_is_not_live_and_the_rows_stay(ran: Ran, mode: str) -> None:
    name = f"mapped-{mode}"
    assert [ran.done[f"{name}: {step}"].rows for step in ("renamed", "dropped", "inserted again")] == [[], [], []]
    assert_vacuumed(ran, name)
    assert ran.result.emptied[name].deleted[".bin"] > 0
    assert not list((ran.tables / name).glob(KINDS["change data"]))
    assert ran.done[f"{name}: rows at last"].rows == ["(21, 21)"]


def assert_vacuumed(ran: Ran, name: str) -> None:
    """Fail unless VACUUM has deleted files, and left those that are live."""
    assert ran.done[f"{name}: vacuumed at once"].rows, name
    assert ran.result.emptied[name].deleted[".parquet"] > 1


@pytest.mark.parametrize("mode", EVOLVING)
def test_added_columns_have_the_key_of_the_footer(ran: Ran, mode: str) -> None:
    name = EVOLVING[mode]
    added = ["appended", "deeper", "wide", "later", "overwritten", "widened", "added", *(["again"] if mode else [])]
    assert {step: ran.done[f"{name}: {step}"] for step in added} == dict.fromkeys(added, Outcome([]))
    assert ran.done[f"{name}: merged"].rows == ["(1, 0, 0, 1)"]
    assert ran.done[f"{name}: rows"].rows == [f"(7, 7, {WIDE})" if mode else f"(6, 6, {WIDE})"]
    assert ran.result.emptied[name].readable == []
    assert_encrypted(ran, name)
    assert not [file for file in files_under(ran.tables / name) if WIDE.to_bytes(4, "little") in file.read_bytes()]


@pytest.mark.parametrize("mode", EVOLVING)
def test_a_schema_without_a_key_of_its_columns_is_refused(ran: Ran, mode: str) -> None:
    name = EVOLVING[mode]
    assert ran.refused(f"{name}: by partition", "values of partition columns")
    for step in ("narrow", "without keys"):
        assert ran.done[f"{name}: {step}"].condition == "PME_UNKNOWN_COLUMN", step
    assert_vacuumed(ran, name)
    row = f"(1, '{CANARY}-1', 1, '{CANARY}-fresh')"
    assert ran.done[f"{name}: overwritten rows"].rows == ran.done[f"{name}: rows at last"].rows == [row]


def test_a_new_column_with_the_name_of_one_that_had_a_key_is_refused(ran: Ran) -> None:
    name = EVOLVING["name"]
    assert ran.done[f"{name}: dropped key"].rows == ran.done[f"{name}: same name"].rows == []
    for step in ("no key", "same name insert"):
        assert ran.done[f"{name}: {step}"].condition == "PME_UNKNOWN_COLUMN", step


@pytest.mark.parametrize("mode", EVOLVING)
def test_check_reports_a_condition_on_a_column_that_has_the_key_of_the_footer(ran: Ran, mode: str) -> None:
    name = EVOLVING[mode]
    # The guard has redacted the MERGE's condition on id, which has the key of the footer as well.
    assert ran.checks[f"{name}: check"].kinds == [CHECKPOINT]
    assert ran.done[f"{name}: told"].rows == ["(1,)"]
    found = ran.checks[f"{name}: check of a condition"]
    columns = {"code", "extra", "fresh", "id", "later", "merged", "person.added", "person.inner", "ssn"}
    assert set(found.columns) == columns
    assert found.kinds == [("high", "predicate", "fresh"), CHECKPOINT]
    shown = readable(ran, name, SHOWN)
    assert shown
    assert shown <= {one.file for one in found.findings if one.severity == "high"}


def test_check_reports_a_column_without_a_key_that_is_plaintext(ran: Ran) -> None:
    rows = [f"('{CANARY}-1', '{OPEN}')"]
    assert ran.done["incomplete: rows"].rows == ran.done["completed: rows"].rows == rows
    assert ran.checks["incomplete: check"].columns == ("ssn",)
    found = ran.checks["incomplete: check of it"]
    assert found.kinds == [("high", "plaintext column", "extra")]
    shown = readable(ran, "incomplete", OPEN)
    assert shown
    assert shown == {one.file for one in found.findings}
    assert readable(ran, "completed", OPEN) == set()
    assert_encrypted(ran, "incomplete", "completed")


def readable(ran: Ran, name: str, text: str) -> set[str]:
    """Return the files with a text in their bytes."""
    root = ran.tables / name
    return {str(file.relative_to(root)) for file in files_under(root) if text.encode() in file.read_bytes()}
