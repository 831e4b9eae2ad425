"""Tables of a real Delta, as verification, key usage, inspection and the doctor see them in a session with Delta."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.delta import delta_tables, verify_job
from tests.support.processes import result_of
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(SPARK_VERSION > (4, 2), reason="there is no Delta for this Spark"),
    pytest.mark.skipif(not os.environ.get("PME_TEST_ALL"), reason="make test-all runs this"),
    pytest.mark.oldest,
]

LIVE, NOT_LIVE, CHECKPOINTS, CHANGES = 5, 4, 2, 1
PATIENCE = 600


class Ran:
    """What came of the job, and where its tables are."""

    def __init__(self, work: Path) -> None:
        self.done: dict[str, Any] = result_of(verify_job, str(work), patience=PATIENCE)
        self.tables = work / "tables"

    def conditions(self, step: str) -> list[str]:
        return sorted(condition for _, condition, _ in self.done[step]["rows"])

    def table(self, step: str) -> dict[str, Any]:
        tables: list[dict[str, Any]] = self.done[step]["tables"]
        [table] = tables
        return table

    def checks(self, step: str) -> dict[str, list[str]]:
        checks: dict[str, list[str]] = self.done[step]
        return {name: found for name, found in checks.items() if name.startswith("Delta") or "crypto" in name}

    def not_ok(self, step: str) -> dict[str, str]:
        return {name: status for name, (status, _) in self.checks(step).items() if status != "ok"}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("delta-checks"))


def test_live_files_and_checkpoints_are_verified(ran: Ran) -> None:
    assert ran.done["live"] == LIVE
    assert (ran.conditions("whole"), ran.done["whole"]["files"]) == ([], LIVE + CHECKPOINTS)
    assert ran.table("whole") == {
        "table": "people",
        "version": verify_job.LAST,
        "live_by": "the session's Delta",
        "live": LIVE,
        "missing": 0,
        "elsewhere": 0,
        "not_live": NOT_LIVE,
        "change_data": CHANGES,
        "checkpoints": CHECKPOINTS,
        "deletion_vectors": 2,
    }
    assert "2 deletion vector files (not encrypted, not looked at)" in ran.done["whole"]["text"]
    assert ran.done["all files"]["files"] == LIVE + NOT_LIVE + CHECKPOINTS + CHANGES
    assert ran.conditions("all files") == []
    assert ran.done["sql"] == 0


def test_keys_are_compared_in_live_files_and_checkpoints(ran: Ran) -> None:
    assert ran.conditions("bound") == []
    assert set(ran.conditions("other key")) == {"PME_KEY_METADATA"}


def test_a_partition_a_file_a_clone_and_a_directory_above_are_verified(ran: Ran) -> None:
    counts = [ran.table(f"partition {name}")["live"] for name in ("day=d 0", "day=e%3A%251")]
    assert sum(counts) == LIVE
    assert [ran.table(f"partition {name}")["checkpoints"] for name in ("day=d 0", "day=e%3A%251")] == [0, 0]
    assert (ran.done["file"]["files"], ran.done["file"]["tables"]) == (1, [])
    assert ran.table("above") == ran.table("whole")
    assert (ran.table("clone")["live"], ran.table("clone")["elsewhere"], ran.conditions("clone")) == (LIVE, LIVE, [])


def test_keys_of_each_part_are_listed_apart(ran: Ran) -> None:
    assert [(part, key, files) for part, key, files, _, _ in ran.done["usage"]] == [
        ("live", "footer", LIVE),
        ("live", "pii", LIVE),
        ("not live", "footer", NOT_LIVE),
        ("not live", "pii", NOT_LIVE),
        ("change data", "footer", CHANGES),
        ("change data", "pii", CHANGES),
        ("checkpoint", "footer", CHECKPOINTS),
    ]
    assert ["live", None, 1, [], ["PME_DAMAGED_FILE"]] in ran.done["missing usage"]


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
    assert ran.table(step)["version"] == verify_job.LAST
    assert delta_tables.CANARY not in str(ran.done[step])


@pytest.mark.parametrize("step", ["new checkpoint", "new checkpoint usage", "without commits"])
def test_a_log_that_delta_cannot_read_is_an_error(ran: Ran, step: str) -> None:
    assert ran.done[step][0] == "PME_UNSUPPORTED"
    assert "which of its files are live is not known" in ran.done[step][1]


def test_deltalake_says_the_same_as_the_session(ran: Ran) -> None:
    # With all commits, it needs no checkpoint.
    [table] = pme.inspect(ran.tables / "people").tables
    assert (table.version, table.live, table.live_by) == (verify_job.LAST, LIVE, "deltalake")
    [cleaned] = pme.inspect(ran.tables / "cleaned").tables
    assert (cleaned.version, cleaned.live) == (None, None)
    by_session = ran.done["inspect cleaned"]
    assert by_session == [verify_job.LAST, LIVE, "the session's Delta"]


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
