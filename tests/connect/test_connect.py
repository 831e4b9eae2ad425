"""The main round trip over Spark Connect: options only, so nothing needs the JVM of the classic session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pme_parquet as pme
from pme_parquet._doctor.diagnosis import Check
from tests.connect.round_trip import ROWS
from tests.support import needs, session
from tests.support.canary import assert_encrypted_footers, assert_no_canaries
from tests.support.shown import named, not_ok

pytestmark = [needs.spark((4, 0), "PySpark 3.5 does not bring the Spark Connect server's jar"), pytest.mark.nightly]

SCRIPT = Path(__file__).with_name("round_trip.py")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def seen(scratch: Path) -> dict[str, Any]:
    """Return the results of a process of its own: a classic session and a Connect one cannot share a process."""
    # Only the variables that name a session are removed; the rest is the environment of the tests.
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYSPARK_GATEWAY", "SPARK_", "PYSPARK_SUBMIT"))
    }
    paths = [str(session.ROOT), *(path for path in sys.path if path)]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(scratch), str(session.testkit_jar())],
        env=environment | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_the_session_is_a_connect_session(seen: dict[str, Any]) -> None:
    assert seen["session"] == "pyspark.sql.connect.session"


def test_a_table_written_over_connect_is_read_back(seen: dict[str, Any]) -> None:
    assert seen["rows"] == seen["read"] == [[number, ssn, list(home)] for number, ssn, home in ROWS]


def test_a_table_written_over_connect_is_encrypted(seen: dict[str, Any], scratch: Path) -> None:
    assert seen["rows"]
    assert_encrypted_footers(scratch / "table")
    assert_no_canaries(scratch / "table", [ssn for _, ssn, _ in ROWS])


@pytest.mark.parametrize(
    ("case", "condition", "error", "mention"),
    [
        ("other keystore", "PME_NOT_AUTHENTIC", "NotAuthenticError", "'footer'"),
        ("misspelt", "PME_UNKNOWN_OPTION", "UnknownOptionError", "footerKey"),
        ("unknown column", "PME_UNKNOWN_COLUMN", "UnknownColumnError", "home.street"),
        ("format forgotten", "PME_BAD_OPTION", "BadOptionError", "pme.write"),
    ],
)
def test_a_refusal_over_connect_is_our_error(
    seen: dict[str, Any], case: str, condition: str, error: str, mention: str
) -> None:
    assert seen[case]["condition"] == condition
    assert seen[case]["class"] == error
    assert mention in seen[case]["text"]


def test_a_refused_write_over_connect_leaves_nothing_behind(seen: dict[str, Any]) -> None:
    assert seen["left behind"] is False


def test_sql_rotates_over_connect(seen: dict[str, Any]) -> None:
    assert seen["rotated"] == ["rotated"]
    assert seen["master keys"] == ["footer"]


def test_the_doctor_looks_at_the_server_over_connect(seen: dict[str, Any]) -> None:
    diagnosis = pme.Diagnosis(tuple(Check(**one) for one in seen["diagnosis"]["checks"]))
    assert not_ok(diagnosis) == {}
    assert named(diagnosis, "session").found == "Spark Connect; the following checks are of the server"
    assert named(diagnosis, "key 'pii' from executor").found.startswith("through the driver, unwrapped in ")
