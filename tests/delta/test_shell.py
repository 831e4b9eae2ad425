"""`pme-parquet delta-encrypt`, `delta-rotate` and `delta-check --spark` as an operator runs them, with a real Delta."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tests.delta import statements_job
from tests.delta.delta_tables import CANARY, FILES, Result
from tests.support import needs
from tests.support.canary import find_canaries
from tests.support.commands import Done
from tests.support.processes import environment, result_of
from tests.support.session import write_keys

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, needs.delta, needs.test_all, pytest.mark.oldest]

PROGRAM = "from pme_parquet.cli import main; main()"
PATIENCE = 900
ROWS = 8
# Delta has a task for each partition, and the table is small.
FEW = {"spark.databricks.delta.snapshotPartitions": "1", "spark.sql.shuffle.partitions": "2"}


class Shell:
    """A directory with the keys."""

    def __init__(self, work: Path) -> None:
        self.work = work
        own = work / "kms"
        own.mkdir()
        self.keys = write_keys(own, ("footer", "pii", "pii-2"))

    def run(self, command: str, table: Path, *arguments: str) -> Done:
        jars = ",".join(map(str, sorted(FILES.glob("*.jar"))))
        settings = {"spark.jars": jars, "spark.driver.memory": "1g", "spark.local.dir": str(self.work / "local")} | FEW
        given = [argument for setting in settings.items() for argument in ("--conf", "=".join(setting))]
        kms = ["--kms", "static", "-o", f"kms.static.keys=file:{self.keys}", "--master", "local[2]", "--json"]
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, command, str(table), *arguments, *kms, *given],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            cwd=self.work,
        )
        assert CANARY not in done.stdout + done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    def change(self, verb: str, key: str, table: Path) -> tuple[int, dict[str, Any]]:
        keys = ["--footer-key", "footer", "--column-key", f"{key}=ssn"]
        done = self.run(verb, table, *keys, "-o", "unlistedColumns=plaintext")
        assert done.err.splitlines() == ["starting Spark …"], done.err
        return done.code, done.document


def footers(table: Path) -> list[bytes]:
    """Return the last bytes of all files, whether they are live or not."""
    return sorted(file.read_bytes()[-4:] for file in table.glob("*.parquet"))


def test_a_table_is_encrypted_then_cleaned_and_rotated(tmp_path: Path) -> None:
    shell, table = Shell(tmp_path), tmp_path / "people"
    write_deltalake(table, pa.table({"id": range(ROWS), "ssn": [f"{CANARY}-{one}" for one in range(ROWS)]}))
    assert find_canaries(table, [CANARY])

    code, first = shell.change("delta-encrypt", "pii", table)
    assert (code, first["version_before"], first["rows"], first["check"]["ok"]) == (1, 0, ROWS, False)
    assert (first["files_rewritten"], first["columns"]) == (1, {"id": None, "ssn": "pii"})
    assert footers(table) == [b"PAR1", b"PARE"]

    advised = result_of(statements_job, Result, str(tmp_path), str(table), *first["statements"], patience=PATIENCE)
    assert [step for step in advised.done.values() if step.rows is None] == []
    assert find_canaries(table, [CANARY]) == []
    # Statements have made commits, but the command makes none.
    code, again = shell.change("delta-encrypt", "pii", table)
    assert (code, again["version"], again["rows"], again["check"]["ok"]) == (0, again["version_before"], None, True)

    done = shell.run("delta-check", table, "--spark", "--column", "ssn")
    assert (done.code, done.document["ok"], done.document["live_by"]) == (0, True, "the session's Delta")

    code, other = shell.change("delta-rotate", "pii-2", table)
    assert (code, other["columns"]["ssn"], other["files_rewritten"], other["rows"]) == (0, "pii-2", 1, ROWS)
