"""An application of several sessions has the same checks in each of them, with our extension."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.policy import session_job
from tests.support.processes import environment

if TYPE_CHECKING:
    from pathlib import Path

    import pme_parquet as pme


def test_an_overwrite_from_another_session_is_refused_before_anything_is_deleted(
    keys: pme.Keystore, target: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, session_job.__file__, str(tmp_path / "scratch"), target, json.dumps(keys.options())],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"condition": "PME_UNKNOWN_COLUMN", "left": True}
