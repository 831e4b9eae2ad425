"""Encrypted ORC in S3, through Hadoop's S3A: written, read, migrated within the store, and inspected without keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.orc.migrating import COLUMN_KEYS, Keys
from tests.support import needs
from tests.support.expect import refused
from tests.support.frames import people
from tests.support.source import rows
from tests.support.storage import s3
from tests.support.storage.s3 import ObjectStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [needs.s3a, pytest.mark.nightly]

BUCKET = "orc-tables"
SECRETS = (b"name-", b"ssn-", b"street-", b"tag-")


@pytest.fixture(scope="module")
def store(spark: SparkSession) -> Iterator[ObjectStore]:
    s3.load(spark)
    with ObjectStore() as made, s3.configured(spark, made.make(BUCKET)):
        yield made


def test_a_table_is_written_read_migrated_and_inspected_in_a_store(
    spark: SparkSession, store: ObjectStore, tmp_path: Path
) -> None:
    lists, source, target = Keys(tmp_path), f"s3a://{BUCKET}/source", f"s3a://{BUCKET}/target"
    frame = people(spark).coalesce(1)
    writer = frame.write.format("pme-orc").options(**lists.full, columnKeys=COLUMN_KEYS)
    writer.partitionBy("country").save(source)
    written = spark.read.format("pme-orc").options(**lists.full).load(source)
    assert rows(written.select(*frame.columns)) == rows(frame)
    assert written.where("ssn = 'ssn-3'").count() == frame.where("ssn = 'ssn-3'").count()
    with refused("PME_KEY_DENIED", "ssn"):
        spark.read.format("pme-orc").options(**lists.without_pii).load(source).select("ssn").collect()
    with pytest.raises(pme.PmeError, match="mig_pii"):
        pme.migrate_orc(spark, source, target, pme.Encryption(kms=lists.without_pii, footer_key="footer"))
    assert store.names(BUCKET, "target/") == set()

    done = pme.migrate_orc(spark, source, target, lists.enc)
    assert (done.rows, done.files) == (frame.count(), len(store_files(store, "source/", ".orc")))
    options = lists.full | {"columnKeys": COLUMN_KEYS, "footerKey": "footer"}
    migrated = spark.read.format("pme-parquet").options(**options).load(target)
    assert rows(migrated.select(*frame.columns)) == rows(frame)
    # The target has appeared whole: nothing else has been left next to it.
    assert {name.partition("/")[0] for name in store.names(BUCKET, "")} <= {"source", "target", ""}
    assert len(store_files(store, "target/", ".parquet")) == done.files
    for name in store_files(store, "target/", ".parquet") | store_files(store, "source/", ".orc"):
        content = store.files.cat_file(f"{BUCKET}/{name}")
        assert not [secret for secret in SECRETS if secret in content]

    shown = {place: str(pme.inspect(place, storage_options=store.storage_options())) for place in (source, target)}
    assert "mig_pii" in shown[source]
    assert f"{done.files} encrypted" in shown[target]


def store_files(store: ObjectStore, prefix: str, ending: str) -> set[str]:
    """Return the keys of the files of a table."""
    found = {prefix + name for name in store.names(BUCKET, prefix) if name.endswith(ending)}
    return {name for name in found if "/_" not in name}
