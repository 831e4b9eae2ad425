"""Tables of a real Delta, as verification, key usage, inspection and the doctor see them in a session with Delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from pme_parquet._operations.verify import DeltaFiles
from tests.delta import delta_tables, verify_job
from tests.delta.delta_ran import assert_refused
from tests.delta.verify_job import Inspected, Usage
from tests.support import needs
from tests.support.processes import result_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, needs.delta, needs.test_all, pytest.mark.oldest]

LIVE, NOT_LIVE, CHECKPOINTS, CHANGES = 5, 4, 2, 1
PATIENCE = 600


class Ran:
    """What came of the job, and where its tables are."""

    def __init__(self, work: Path) -> None:
        self.result = result_of(verify_job, verify_job.Result, str(work), patience=PATIENCE)
        self.verified = self.result.verified
        self.tables = work / "tables"

    def conditions(self, step: str) -> list[str]:
        return sorted(row.condition for row in self.verified[step].findings)

    def table(self, step: str) -> DeltaFiles:
        [table] = self.verified[step].tables
        return table

    def checks(self, step: str) -> dict[str, str]:
        checks = self.result.diagnosed[step].checks
        return {one.name: one.status for one in checks if one.name.startswith("Delta") or "crypto" in one.name}

    def not_ok(self, step: str) -> dict[str, str]:
        return {name: status for name, status in self.checks(step).items() if status != "ok"}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("delta-checks"))


def test_live_files_and_checkpoints_are_verified(ran: Ran) -> None:
    assert ran.result.live == LIVE
    assert (ran.conditions("whole"), ran.verified["whole"].files) == ([], LIVE + CHECKPOINTS)
    assert ran.table("whole") == DeltaFiles(
        table="people",
        version=verify_job.LAST,
        live_by="the session's Delta",
        live=LIVE,
        missing=0,
        elsewhere=0,
        not_live=NOT_LIVE,
        change_data=CHANGES,
        checkpoints=CHECKPOINTS,
        deletion_vectors=2,
    )
    assert "2 deletion vector files (not encrypted, not looked at)" in ran.verified["whole"].text
    assert ran.verified["all files"].files == LIVE + NOT_LIVE + CHECKPOINTS + CHANGES
    assert ran.conditions("all files") == []
    assert ran.result.done["sql"].rows == []


def test_keys_are_compared_in_live_files_and_checkpoints(ran: Ran) -> None:
    assert ran.conditions("bound") == []
    assert set(ran.conditions("other key")) == {"PME_KEY_METADATA"}


def test_a_partition_a_file_a_clone_and_a_directory_above_are_verified(ran: Ran) -> None:
    partitions = [ran.table(f"partition {name}") for name in ("day=d 0", "day=e%3A%251")]
    assert sum(one.live for one in partitions) == LIVE
    assert [one.checkpoints for one in partitions] == [0, 0]
    assert (ran.verified["file"].files, ran.verified["file"].tables) == (1, [])
    assert ran.table("above") == ran.table("whole")
    assert (ran.table("clone").live, ran.table("clone").elsewhere, ran.conditions("clone")) == (LIVE, LIVE, [])


def test_keys_of_each_part_are_listed_apart(ran: Ran) -> None:
    assert [(row.part, row.master_key, row.files) for row in ran.result.used["usage"]] == [
        ("live", "footer", LIVE),
        ("live", "pii", LIVE),
        ("not live", "footer", NOT_LIVE),
        ("not live", "pii", NOT_LIVE),
        ("change data", "footer", CHANGES),
        ("change data", "pii", CHANGES),
        ("checkpoint", "footer", CHECKPOINTS),
    ]
    assert Usage("live", None, 1, [], ["PME_DAMAGED_FILE"]) in ran.result.used["missing usage"]


@pytest.mark.parametrize(
    ("step", "conditions"),
    [
        ("missing", ["PME_DAMAGED_FILE"]),
        ("plain", ["PME_DAMAGED_FILE", "PME_PLAINTEXT_FILE"]),
        ("plain allowed", ["PME_DAMAGED_FILE"]),
        ("bent", ["PME_NOT_AUTHENTIC"]),
        ("old checkpoint", ["PME_NOT_AUTHENTIC"]),
        ("cleaned", []),
        ("like a version", []),
    ],
)
def test_what_was_altered_is_found(ran: Ran, step: str, conditions: list[str]) -> None:
    assert ran.conditions(step) == conditions
    assert ran.table(step).version == verify_job.LAST
    assert delta_tables.CANARY not in str(ran.verified[step])


@pytest.mark.parametrize("step", ["new checkpoint", "new checkpoint usage", "without commits"])
def test_a_log_that_delta_cannot_read_is_an_error(ran: Ran, step: str) -> None:
    assert_refused(ran.result.done[step], "which of its files are live is not known")


def test_deltalake_says_the_same_as_the_session(ran: Ran) -> None:
    # With all commits, it needs no checkpoint.
    [table] = pme.inspect(ran.tables / "people").tables
    assert (table.version, table.live, table.live_by) == (verify_job.LAST, LIVE, "deltalake")
    [cleaned] = pme.inspect(ran.tables / "cleaned").tables
    assert (cleaned.version, cleaned.live) == (None, None)
    assert ran.result.cleaned == Inspected(verify_job.LAST, LIVE, "the session's Delta")


def test_a_session_with_factory_extension_and_footer_key_is_healthy(ran: Ran) -> None:
    assert ran.not_ok("doctor") == {}
    assert set(ran.checks("doctor")) == {
        "Delta commit guard",
        "Delta crypto factory",
        "Delta extensions",
        "Delta checkpoints",
        "KMS of the crypto factory",
        "KMS of the crypto factory on an executor",
    }


@pytest.mark.parametrize(
    ("step", "found"),
    [
        ("doctor without factory", {"Delta crypto factory": "warning"}),
        ("doctor other factory", {"Delta crypto factory": "problem"}),
        ("doctor other key", {"KMS of the crypto factory": "problem"}),
        ("doctor without KMS", {"KMS of the crypto factory": "problem"}),
        ("doctor allows", {"Delta predicates": "warning"}),
        ("doctor without footer key", {"Delta checkpoints": "problem"}),
    ],
)
def test_the_doctor_finds_what_a_session_lacks(ran: Ran, step: str, found: dict[str, str]) -> None:
    assert ran.not_ok(step) == found
