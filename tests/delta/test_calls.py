"""A Delta table of many files costs one call of the KMS for each distinct key, whoever runs its tasks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.delta import calls_job
from tests.support import needs
from tests.support.kms.counting import ROWS_PER_FILE, CalledSteps
from tests.support.processes import result_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.support.kms.counting import Called

pytestmark = [pytest.mark.slow, needs.delta, pytest.mark.nightly]

# Another minute has all statements.
FILES = 200 if needs.ALL else 6
CLUSTER, LOCAL = "local-cluster[2,1,1024]", "local[2]"
DRIVER, EXECUTOR = "driver", "executor"
EXECUTORS = {"0", "1"}
NAMES = ["footer", *(f"k{at}" for at in range(calls_job.COLUMNS))]


def ran(work: Path, master: str, caller: str) -> dict[str, Called]:
    short = [] if needs.ALL else ["short"]
    arguments = [str(work), master, str(FILES), caller, *short]
    found = result_of(calls_job, CalledSteps, *arguments, patience=900)
    done = found.steps
    many = range(FILES * ROWS_PER_FILE)
    expected = [str(len(many)), str(len(many)), max(f"c1-{at}" for at in many), max(f"c2-{at}" for at in many)]
    reads = ("read", "read again", "own", "cold read", "cold read again")
    assert [done[step].rows for step in reads if step in done] == [[expected]] * (len(reads) if needs.ALL else 1)
    assert found.files >= FILES
    return done


@pytest.fixture(scope="module", params=[CLUSTER, pytest.param(LOCAL, marks=needs.test_all)])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Called]:
    return ran(tmp_path_factory.mktemp("calls"), request.param, DRIVER)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Called]:
    """Return what came of a session whose executors are to call the KMS themselves."""
    return ran(tmp_path_factory.mktemp("alone"), CLUSTER, EXECUTOR)


def calls(seen: dict[str, Called], step: str) -> Counter[tuple[str, str, str]]:
    return Counter(seen[step].calls)


def once(what: str, callers: Iterable[str] = (DRIVER,)) -> Counter[tuple[str, str, str]]:
    return Counter((what, key, caller) for key in NAMES for caller in callers)


def test_the_driver_calls_the_kms_once_for_each_key_that_a_write_makes(seen: dict[str, Called]) -> None:
    assert calls(seen, "create") == Counter()
    assert calls(seen, "write") == once("wrap")


def test_the_driver_calls_the_kms_once_for_each_key_that_a_read_finds(seen: dict[str, Called]) -> None:
    assert calls(seen, "read") == once("unwrap")


def test_the_doctor_tries_the_footer_key_in_the_way_of_a_task(seen: dict[str, Called]) -> None:
    trial = Counter({("wrap", "footer", DRIVER): 1, ("unwrap", "footer", DRIVER): 1})
    # One trial on the driver, and one in a task, which asks the driver.
    assert calls(seen, "doctor") == trial + trial
    [(_, status, found)] = [row for row in seen["doctor"].rows if row[0].endswith("on an executor")]
    assert status == "ok"
    assert found.startswith("through the driver, key 'footer': wrapped in ")


@needs.test_all
def test_a_key_is_opened_once_for_each_user_of_the_kms(seen: dict[str, Called]) -> None:
    assert calls(seen, "read again") == Counter()
    # Another user of the KMS, in the same session, gets nothing of that.
    assert calls(seen, "cold read") == once("unwrap")
    assert calls(seen, "cold read again") == Counter()


@needs.test_all
def test_changes_of_a_table_call_the_kms_only_for_new_keys(seen: dict[str, Called]) -> None:
    assert calls(seen, "update") == once("unwrap") + once("wrap")
    # It shares the keys of the statement before, with its checkpoint.
    assert calls(seen, "append") == Counter()
    assert calls(seen, "optimize") == once("unwrap")
    assert calls(seen, "read at last") == Counter()


@needs.test_all
def test_a_rotation_has_every_key_wrapped_by_the_newest_version_though_keys_from_before_are_kept(
    seen: dict[str, Called],
) -> None:
    assert {call for call in calls(seen, "rotate") if call[0] == "wrap"} == set(once("wrap"))
    # Whoever may write afterwards has the new keys as well.
    assert calls(seen, "append rotated") == Counter()
    # The version from before opens nothing any more: a new driver needs it neither for data nor for the log.
    assert seen["retired"].rows == seen["read appended"].rows


@needs.test_all
def test_a_read_with_a_kms_of_its_own_does_not_get_keys_of_the_session_s(seen: dict[str, Called]) -> None:
    found = calls(seen, "own")
    # Options of one read are not the session's, so whoever reads a file calls the KMS that they name.
    assert {key for _, key, _ in found} == set(NAMES)
    assert max(Counter(executor for _, _, executor in found).values()) < FILES


@needs.test_all
def test_the_doctor_has_a_task_call_the_kms_if_an_option_asks_for_it(alone: dict[str, Called]) -> None:
    assert {(what, executor == DRIVER) for what, _, executor in calls(alone, "doctor")} == {
        (what, on_driver) for what in ("wrap", "unwrap") for on_driver in (True, False)
    }
    assert [row[1] for row in alone["doctor"].rows] == ["ok", "ok"]


@needs.test_all
def test_executors_call_the_kms_themselves_if_an_option_asks_for_it(alone: dict[str, Called]) -> None:
    for step, what in {"write": "wrap", "cold read": "unwrap"}.items():
        found = calls(alone, step)
        assert {(name, executor) for _, name, executor in found} == {(n, e) for n in NAMES for e in EXECUTORS}, step
        assert {name for name, _, _ in found} == {what}
