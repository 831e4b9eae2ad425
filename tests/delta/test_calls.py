"""A Delta table of many files costs one call of the KMS for each distinct key, whoever runs its tasks."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.delta import calls_job
from tests.support.kms.counting import ROWS_PER_FILE
from tests.support.processes import result_of
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(SPARK_VERSION > (4, 2), reason="there is no Delta for this Spark"),
    pytest.mark.nightly,
]

ALL = bool(os.environ.get("PME_TEST_ALL"))
# Another minute has all statements.
FILES = 200 if ALL else 6
CLUSTER, LOCAL = "local-cluster[2,1,1024]", "local[2]"
all_of_them = pytest.mark.skipif(not ALL, reason="make test-all runs this")
DRIVER, EXECUTOR = "driver", "executor"
EXECUTORS = {"0", "1"}
NAMES = ["footer", *(f"k{at}" for at in range(calls_job.COLUMNS))]

Call = tuple[str, str, str]


def ran(work: Path, master: str, caller: str) -> dict[str, Any]:
    short = [] if ALL else ["short"]
    done: dict[str, Any] = result_of(calls_job, str(work), master, str(FILES), caller, *short, patience=900)
    many = range(FILES * ROWS_PER_FILE)
    expected = [str(len(many)), str(len(many)), max(f"c1-{at}" for at in many), max(f"c2-{at}" for at in many)]
    reads = ("read", "read again", "own", "cold read", "cold read again")
    assert [done[step]["rows"] for step in reads if step in done] == [[expected]] * (len(reads) if ALL else 1)
    assert done["files"] >= FILES
    return done


@pytest.fixture(scope="module", params=[CLUSTER, pytest.param(LOCAL, marks=all_of_them)])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return ran(tmp_path_factory.mktemp("calls"), request.param, DRIVER)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what came of a session whose executors are to call the KMS themselves."""
    return ran(tmp_path_factory.mktemp("alone"), CLUSTER, EXECUTOR)


def calls(seen: dict[str, Any], step: str) -> Counter[Call]:
    return Counter((what, key, executor) for what, key, executor in seen[step]["calls"])


def once(what: str, callers: Iterable[str] = (DRIVER,)) -> Counter[Call]:
    return Counter((what, key, caller) for key in NAMES for caller in callers)


def test_the_driver_calls_the_kms_once_for_each_key_that_a_write_makes(seen: dict[str, Any]) -> None:
    assert calls(seen, "create") == Counter()
    assert calls(seen, "write") == once("wrap")


def test_the_driver_calls_the_kms_once_for_each_key_that_a_read_finds(seen: dict[str, Any]) -> None:
    assert calls(seen, "read") == once("unwrap")


def test_the_doctor_tries_the_footer_key_in_the_way_of_a_task(seen: dict[str, Any]) -> None:
    trial = Counter({("wrap", "footer", DRIVER): 1, ("unwrap", "footer", DRIVER): 1})
    # One trial on the driver, and one in a task, which asks the driver.
    assert calls(seen, "doctor") == trial + trial
    [(_, status, found)] = [row for row in seen["doctor"]["rows"] if row[0].endswith("on an executor")]
    assert status == "ok"
    assert found.startswith("through the driver, key 'footer': wrapped in ")


@all_of_them
def test_a_key_is_opened_once_for_each_user_of_the_kms(seen: dict[str, Any]) -> None:
    assert calls(seen, "read again") == Counter()
    # Another user of the KMS, in the same session, gets nothing of that.
    assert calls(seen, "cold read") == once("unwrap")
    assert calls(seen, "cold read again") == Counter()


@all_of_them
def test_changes_of_a_table_call_the_kms_only_for_new_keys(seen: dict[str, Any]) -> None:
    assert calls(seen, "update") == once("unwrap") + once("wrap")
    # It shares the keys of the statement before, with its checkpoint.
    assert calls(seen, "append") == Counter()
    assert calls(seen, "optimize") == once("unwrap")
    assert calls(seen, "read at last") == Counter()


@all_of_them
def test_a_rotation_has_every_key_wrapped_by_the_newest_version_though_keys_from_before_are_kept(
    seen: dict[str, Any],
) -> None:
    assert {call for call in calls(seen, "rotate") if call[0] == "wrap"} == set(once("wrap"))
    # Whoever may write afterwards has the new keys as well.
    assert calls(seen, "append rotated") == Counter()
    # The version from before opens nothing any more: a new driver needs it neither for data nor for the log.
    assert seen["retired"]["rows"] == seen["read appended"]["rows"]


@all_of_them
def test_a_read_with_a_kms_of_its_own_does_not_get_keys_of_the_session_s(seen: dict[str, Any]) -> None:
    found = calls(seen, "own")
    # Options of one read are not the session's, so whoever reads a file calls the KMS that they name.
    assert {key for _, key, _ in found} == set(NAMES)
    assert max(Counter(executor for _, _, executor in found).values()) < FILES


@all_of_them
def test_the_doctor_has_a_task_call_the_kms_if_an_option_asks_for_it(alone: dict[str, Any]) -> None:
    assert {(what, executor == DRIVER) for what, _, executor in calls(alone, "doctor")} == {
        (what, on_driver) for what in ("wrap", "unwrap") for on_driver in (True, False)
    }
    assert [row[1] for row in alone["doctor"]["rows"]] == ["ok", "ok"]


@all_of_them
def test_executors_call_the_kms_themselves_if_an_option_asks_for_it(alone: dict[str, Any]) -> None:
    for step, what in {"write": "wrap", "cold read": "unwrap"}.items():
        found = calls(alone, step)
        assert {(name, executor) for _, name, executor in found} == {(n, e) for n in NAMES for e in EXECUTORS}, step
        assert {name for name, _, _ in found} == {what}
