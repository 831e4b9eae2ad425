"""A session without our extension."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.policy import plain_session_job
from tests.support.processes import result_of

if TYPE_CHECKING:
    from pathlib import Path

    import pme_parquet as pme


def test_a_session_without_our_extension_reads_and_writes_and_trusts_no_stored_table(
    keys: pme.Keystore, tmp_path: Path
) -> None:
    told = result_of(plain_session_job, str(tmp_path), json.dumps(keys.options()))
    assert told.pop("stored") == "PME_BAD_OPTION"
    assert told.pop("saveAsTable") == 0
    assert told == dict.fromkeys(told, plain_session_job.ROWS)
    assert len(told) == 7
