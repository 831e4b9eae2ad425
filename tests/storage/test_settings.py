"""`inspect`, `snapshots` and `report` on S3 as a session reaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.storage.place import READING
from tests.support import needs
from tests.support.frames import people

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.storage.place import InBucket

pytestmark = needs.s3a


def test_a_sessions_settings_reach_the_store_without_spark(
    spark: SparkSession, place: InBucket, tmp_path: Path
) -> None:
    place.write(people(spark))
    pme.seal(spark, place.path, options=READING, index=[pme.MinMax("id")], expect="unsealed")
    seen = pme.inspect(place.path, spark=spark)
    assert [file.file for file in seen.files] == sorted(place.data())
    assert seen.findings == ()
    how = (
        f"settings of the Spark session: endpoint {place.store.url}, region us-east-1, path style, "
        f"credentials of fs.s3a.bucket.{place.bucket}.access.key"
    )
    assert seen.storage == how
    assert f"storage: {how}" in str(seen)
    versions = pme.snapshots(place.path, spark=spark)
    assert ([one.version for one in versions], versions.storage) == ([1], how)
    assert pme.describe_index(place.path, spark=spark).storage == how
    page = pme.report(place.path, tmp_path / "report.html", spark=spark, options=READING)
    assert how in page.read_text(encoding="utf-8")
    # What the caller says is taken before what the session says.
    other = pme.inspect(place.path, spark=spark, storage_options=place.store.storage_options())
    assert other.storage == f"storage_options: endpoint_url {place.store.url}, key, secret"
    assert other.files == seen.files
