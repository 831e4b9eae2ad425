"""An application of several sessions has the same checks in each of them, with our extension."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.policy import session_job
from tests.support.processes import told_by

if TYPE_CHECKING:
    from pathlib import Path

    import pme_parquet as pme


def test_an_overwrite_from_another_session_is_refused_before_anything_is_deleted(
    keys: pme.Keystore, target: str, tmp_path: Path
) -> None:
    told = told_by(session_job, str(tmp_path / "scratch"), target, json.dumps(keys.options()))
    assert told == {"condition": "PME_UNKNOWN_COLUMN", "left": True}
