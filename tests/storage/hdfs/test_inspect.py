"""`inspect`, `report` and `snapshots` on HDFS: through the session's own client, or WebHDFS."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.storage.hdfs.place import SECRET, SOMEBODY
from tests.storage.place import READING
from tests.support.expect import refused
from tests.support.frames import people

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.storage.hdfs.place import InHdfs
    from tests.support.storage.hdfs import Hdfs

pytestmark = pytest.mark.oldest

CLIENT = "the Hadoop client of the Spark session"


def test_through_the_session(spark: SparkSession, place: InHdfs, tmp_path: Path) -> None:
    place.write(people(spark))
    pme.seal(spark, place.path, options=READING, index=[pme.MinMax("id")], expect="unsealed")
    seen = pme.inspect(place.path, spark=spark)
    assert [file.file for file in seen.files] == sorted(place.data())
    assert (seen.findings, seen.storage) == ((), CLIENT)
    versions = pme.snapshots(place.path, spark=spark)
    assert ([one.version for one in versions], versions.storage) == ([1], CLIENT)
    page = pme.report(place.path, tmp_path / "report.html", spark=spark, options=READING)
    assert CLIENT in page.read_text(encoding="utf-8")
    [one] = pme.inspect(f"{place.path}/{min(place.data())}", spark=spark).files
    assert one.encrypted


def test_what_cannot_be_read_is_reported(spark: SparkSession, place: InHdfs) -> None:
    with refused("PME_BAD_OPTION", "nothing at this path"):
        pme.inspect(place.path, spark=spark)
    with pytest.raises(pme.PmeError, match="ConnectException"):
        pme.inspect("hdfs://127.0.0.1:1/people", spark=spark)
    place.write(people(spark))
    secret = min(place.data())
    place.files.allow(f"{place.where}/{secret}", SECRET, to=SOMEBODY)
    [finding] = pme.inspect(place.path, spark=spark).findings
    assert finding.file == secret
    assert "ermission denied" in finding.message
    assert "org.apache.hadoop.hdfs.server" not in finding.message


def test_webhdfs_without_a_session(spark: SparkSession, hdfs: Hdfs, place: InHdfs) -> None:
    place.write(people(spark))
    seen = pme.inspect(f"{hdfs.web}/{place.where}", storage_options={"user": getpass.getuser()})
    assert [file.file for file in seen.files] == sorted(place.data())
    assert seen.findings == ()


def test_without_a_session_it_says_what_it_lacks(place: InHdfs) -> None:
    place.files.write(f"{place.where}/part-0.parquet", b"PAR1")
    with refused("PME_UNSUPPORTED", "pyarrow does not find it", "spark=", "webhdfs://"):
        pme.inspect(place.path)
