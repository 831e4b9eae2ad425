"""An encrypted Iceberg table of many files costs one call of the KMS for its key, and executors make none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.iceberg import calls_job
from tests.iceberg.iceberg_job import KEY, VERSIONS
from tests.support import needs
from tests.support.kms.counting import ROWS_PER_FILE, CalledSteps
from tests.support.processes import result_of
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from tests.support.kms.counting import Called

FILES = 200
MASTERS = ["local[2]", "local-cluster[2,1,1024]"]
pytestmark = [pytest.mark.slow, needs.iceberg, needs.test_all, pytest.mark.oldest]
WRAP, UNWRAP = ("wrap", KEY, "driver"), ("unwrap", KEY, "driver")


@pytest.fixture(scope="module", params=MASTERS)
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Called]:
    arguments = [str(tmp_path_factory.mktemp("calls")), VERSIONS[SPARK_VERSION][0], request.param, str(FILES)]
    found = result_of(calls_job, CalledSteps, *arguments, patience=600)
    rows = range(FILES * ROWS_PER_FILE)
    expected = [str(len(rows)), str(len(rows)), max(f"c1-{at}" for at in rows), max(f"c2-{at}" for at in rows)]
    for step in ("read", "cold read", "read again"):
        assert found.steps[step].rows == [expected], step
    assert found.files > FILES
    return found.steps


def test_a_table_has_one_key_whatever_the_number_of_files(seen: dict[str, Called]) -> None:
    assert seen["create"].calls == []
    # Iceberg unwraps it when it writes the first manifest.
    assert seen["write"].calls == [WRAP, UNWRAP]
    assert seen["read"].calls == []


def test_another_user_unwraps_it_once(seen: dict[str, Called]) -> None:
    assert seen["cold read"].calls == [UNWRAP]
    assert seen["read again"].calls == []


def test_changes_of_the_table_call_nobody(seen: dict[str, Called]) -> None:
    for step in ("append", "update", "compact", "read at last"):
        assert seen[step].calls == [], step
