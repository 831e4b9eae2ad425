"""What a person with a Databricks workspace runs, here on a Spark that has Delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.delta import platform_job
from tests.support import needs
from tests.support.processes import result_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, needs.delta, needs.test_all, pytest.mark.oldest]


def test_every_promise_holds_with_delta(tmp_path: Path) -> None:
    found = result_of(platform_job, platform_job.Result, str(tmp_path), patience=600).promises
    assert [one for one in found if one.found != "yes"] == []
    details = {one.promise: one.detail for one in found}
    assert "a write by Delta with keys as options is refused" in details
    assert details["Delta encrypts in a session with the crypto factory"].endswith("200 rows")
