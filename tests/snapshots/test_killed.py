"""A seal, an expiry or a write that is killed: the table reads at the old or the new version, or says what to do.

Each step stops at seeded points, a file system that makes no more changes; some in a JVM that halts there. Object
stores are stopped at every point in `ObjectStoreSuite`.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest
from pyspark.errors import AnalysisException

import pme_parquet as pme
from tests.snapshots.killed_job import STEPS, overwrite
from tests.snapshots.tables import KMS, ids, seal, write
from tests.support import file_systems, needs
from tests.support.canary import data_files
from tests.support.expect import condition
from tests.support.file_systems import NEVER
from tests.support.frames import people
from tests.support.processes import assert_halts

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

POINTS = 6 if needs.ALL else 3
TWO_DAYS = 2 * 24 * 60 * 60
OLD = list(range(20))
# What the table has after a step.
NEW = {"seal": OLD, "expire": OLD, "append": list(range(40)), "overwrite": list(range(20, 40))}
WRITES = ["append", "overwrite"]


class Prepared(NamedTuple):
    """A table with three versions, which keeps its place: each test gets it back as it was."""

    path: Path
    kept: Path
    classes: Path

    def back(self) -> Path:
        shutil.rmtree(self.path, ignore_errors=True)
        return shutil.copytree(self.kept, self.path)


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    classes = file_systems.load(spark, tmp_path_factory)
    path = tmp_path_factory.mktemp("killed") / "table"
    write(people(spark).coalesce(1), str(path))
    for column in ("salary", "name", "ssn"):
        seal(spark, str(path), index=[pme.MinMax(column)])
    return Prepared(path, shutil.copytree(path, path.with_name("kept")), classes)


def changes_of(spark: SparkSession, prepared: Prepared, step: str) -> int:
    """Return how many changes a step makes to the disk."""
    table = prepared.back()
    with file_systems.stopping(spark, NEVER):
        STEPS[step](spark.newSession(), table)
        return NEVER - file_systems.changes_left(spark)


@pytest.mark.parametrize("step", list(STEPS))
def test_a_step_that_stops_leaves_a_table_that_can_be_read_or_sealed(
    spark: SparkSession, prepared: Prepared, step: str
) -> None:
    changes = changes_of(spark, prepared, step)
    points = Random(step).sample(range(changes), min(POINTS, changes))  # noqa: S311 no secret
    failures = 0
    for after in points:
        table = prepared.back()
        with file_systems.stopping(spark, after):
            try:
                STEPS[step](spark.newSession(), table)
            except Exception as error:  # noqa: BLE001 - of Spark or of ours
                assert "stopped" in str(error), error  # noqa: PT017 - the step may succeed
                failures += 1
        assert_goes_on(spark.newSession(), table, step)
    assert failures >= len(points) - 1


@pytest.mark.nightly
@pytest.mark.parametrize("step", ["seal", "append"])
def test_a_step_whose_jvm_halts_leaves_a_table_that_can_be_read_or_sealed(
    spark: SparkSession, prepared: Prepared, step: str
) -> None:
    changes = changes_of(spark, prepared, step)
    after = Random(f"halted {step}").randrange(changes)  # noqa: S311 no secret
    table = prepared.back()
    assert_halts("tests.snapshots.killed_job", step, table, prepared.classes, after)
    assert_goes_on(spark.newSession(), table, step)


def assert_goes_on(spark: SparkSession, table: Path, step: str) -> None:
    """Fail unless a killed step left the old or the new rows, or a refusal, and the table can be used again."""
    path = str(table)
    is_read = is_refused = False
    try:
        assert ids(spark, path, snapshot="require") in [OLD, NEW[step]]
        is_read = True
    except pme.SnapshotMismatchError as error:
        is_refused = "pme.seal" in str(error)
    except pme.SnapshotDamagedError:
        # The manifests are there again, and the list of the new files is not.
        is_refused = step == "overwrite"
    except AnalysisException as error:
        # Spark's, for a table whose files are deleted.
        is_refused = condition(error) == "UNABLE_TO_INFER_SCHEMA" and not data_files(table)
    assert is_read or (is_refused and step in WRITES)
    if step == "overwrite":
        with file_systems.stopping(spark, NEVER):
            overwrite(spark, table)
    else:
        seal(spark, path)
    rows = ids(spark, path, snapshot="require")
    # Spark commits the files of an append one after another; what `pme.seal` returns says how many were added.
    assert rows in [OLD, NEW[step]] or (step == "append" and is_refused and set(OLD) < set(rows) < set(NEW[step]))
    age(table)
    pme.expire_snapshots(spark, path, keep=1, options=KMS)
    assert ids(spark, path, snapshot="require") == rows
    left = {file.name for file in (table / "_pme_snapshots").iterdir()}
    [manifest] = [name for name in left if name.startswith("snapshot-")]
    text = (table / "_pme_snapshots" / manifest).read_text()
    assert left == {manifest, *re.findall(r'"name":"([^"]+)"', text)}
    assert pme.snapshots(table).problems == ()


def age(table: Path) -> None:
    """Make all files of snapshots so old that no process can be writing them."""
    for file in (table / "_pme_snapshots").iterdir():
        os.utime(file, (time.time() - TWO_DAYS,) * 2)
