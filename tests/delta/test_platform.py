"""What a person with a Databricks workspace runs, here on a Spark that has Delta."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.delta import platform_job
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


def test_every_promise_holds_with_delta(tmp_path: Path) -> None:
    found = result_of(platform_job, str(tmp_path), patience=600)
    assert {promise: said for promise, said in found.items() if said[0] != "yes"} == {}
    assert "a write by Delta with keys as options is refused" in found
    assert found["Delta encrypts in a session with the crypto factory"][1].endswith("200 rows")
