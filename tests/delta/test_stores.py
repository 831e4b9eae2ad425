"""Tables of a real Delta in HDFS and S3: what is written, changed and read there, and what is readable."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.delta import stores_job
from tests.delta.delta_tables import CANARY
from tests.delta.encrypt_tables import Encrypted, EncryptResult
from tests.support import needs
from tests.support.canary import files_under, find_canaries
from tests.support.processes import result_of
from tests.support.session import SPARK_VERSION
from tests.support.storage import hdfs, s3

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.storage import Lake

pytestmark = [pytest.mark.slow, needs.delta, needs.test_all, pytest.mark.all_rows, pytest.mark.oldest]

PATIENCE = 600
MARKS = "_pme_encrypting"


class Ran:
    """What came of the job, and copies of its tables."""

    def __init__(self, work: Path, lake: Lake) -> None:
        self.all = result_of(stores_job, EncryptResult, str(work), lake.text, *stores_job.PARTS, patience=PATIENCE)
        self.done = self.all.done
        self.copies = work / "copies"

    def result(self, step: str) -> Encrypted:
        assert step in self.all.encrypted, self.done[step]
        return self.all.encrypted[step]

    def parquet(self, step: str) -> set[bytes]:
        """Return how the Parquet files of a table end, those of its log among them."""
        files = [file for file in files_under(self.copies / step) if file.suffix == ".parquet"]
        assert files, step
        return {file.read_bytes()[-4:] for file in files}

    def checkpoints(self, step: str) -> int:
        return len(list((self.copies / step / "_delta_log").glob("*.checkpoint*.parquet")))

    def marks(self, step: str) -> list[str]:
        return [file.name for file in files_under(self.copies / step / MARKS)]

    def live(self, step: str) -> list[bytes]:
        """Return the files that were live at a step."""
        files = [(self.copies / step / name).read_bytes() for name in self.all.live[step]]
        assert files, step
        return files


# S3A must be of Spark's own Hadoop.
S3A: dict[tuple[int, ...], Path] = {(4, 1): s3.OF_SPARK_4_1, (4, 2): s3.JARS}
with_s3a = needs.sparks(S3A, "there is no S3A for this Spark here")


@pytest.fixture(scope="module", params=["hdfs", pytest.param("s3", marks=with_s3a)])
def ran(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    in_hdfs = partial(hdfs.lake, spark, tmp_path_factory.mktemp("store"))
    with in_hdfs() if request.param == "hdfs" else s3.lake(S3A[SPARK_VERSION]) as lake:
        yield Ran(tmp_path_factory.mktemp("delta"), lake)


def test_an_encrypted_table_is_written_changed_and_read(ran: Ran) -> None:
    assert (ran.done["append"].rows, ran.done["update"].rows, ran.done["delete"].rows) == ([], ["(1,)"], ["(1,)"])
    assert ran.done["merge"].rows == ["(2, 0, 1, 1)"]
    [optimized] = ran.done["optimize"].rows or []
    assert "numFilesAdded=1" in optimized
    names = {0: "x", 1: "z", 4: "y", 6: "y", 7: "y", 9: "m"}
    assert ran.done["rows"].rows == [f"({at}, '{CANARY}-{at}', '{name}')" for at, name in names.items()]
    assert ran.done["old"].rows == [f"({at},)" for at in range(4)]
    assert ran.done["delete by value"].rows == ["(1,)"]


def test_nothing_of_it_is_readable_in_the_store(ran: Ran) -> None:
    assert find_canaries(ran.copies / "life", [CANARY]) == []
    # A search does not see into compressed pages.
    assert ran.parquet("life") == {b"PARE"}
    assert ran.checkpoints("life")
    assert ran.all.checks["life"].kinds == [("note", "deletion vectors", ""), ("note", "encrypted checkpoint", "")]


def test_a_table_in_plaintext_is_encrypted_by_the_run_after_one_that_broke_off(ran: Ran) -> None:
    assert ran.done["plain refused"].condition == "PME_PLAINTEXT_FILE"
    # The search finds values in plaintext before.
    assert all(CANARY.encode() in file for file in ran.live("plain"))
    assert "broken off" in ran.done["broken"].message
    assert len(ran.marks("broken")) == 1
    result = ran.result("encrypted")
    # The run before had rewritten the files, and this one compares their rows.
    assert (result.files_rewritten, result.rows, result.columns["ssn"]) == (0, 8, "pii")
    assert not (ran.copies / "encrypted" / MARKS).exists()
    again = ran.result("again")
    assert (again.files_rewritten, again.rows, again.version) == (0, None, result.version)
    assert ran.done["encrypted rows"].rows == ["(8, 8, 28)"]
    assert {file[-4:] for file in ran.live("encrypted")} == {b"PARE"}


def test_the_check_after_it_reports_what_older_versions_leave(ran: Ran) -> None:
    check = ran.result("encrypted").check
    assert check
    assert check.looked_at["files live"] == 1
    found = {one.file for one in check.findings if one.kind == "plaintext file"}
    assert found == set(ran.all.live["plain"])
    assert "unread" not in {one.severity for one in check.findings}


def test_its_keys_are_rotated(ran: Ran) -> None:
    assert ran.result("rotated").rows == 8
    assert ran.done["rotated keys"].rows == ["pii-2"]
    assert ran.done["rotated rows"].rows == ran.done["rotated: rows before"].rows == ["(8, 8, 28)"]
    assert {file[-4:] for file in ran.live("rotated")} == {b"PARE"}
    assert ran.checkpoints("rotated") == 1
    # The live file and the checkpoint.
    assert ran.done["verified"].rows == ["2 files"]
