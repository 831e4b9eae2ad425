"""Sealed tables in S3, through Hadoop's S3A: a version appears by one conditional request.

What a process that stops at any point leaves, and who wins at any point, is tested on a store in memory
(`ObjectStoreSuite`, `PublishingSuite`).
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import pme_parquet as pme
from tests.snapshots import tables
from tests.snapshots.tables import KEYS, KMS, MISMATCH, files_read, ids, load, plant, write
from tests.support import needs
from tests.support.expect import refused
from tests.support.frames import people
from tests.support.storage import s3
from tests.support.storage.s3 import ObjectStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.storage.s3 import Request

pytestmark = needs.s3a

PATIENCE = 60
BUCKET = "tables"
UPDATE = KEYS | {"snapshot": "update"}


class Table(NamedTuple):
    """A table of the store, which ``path`` names for Spark."""

    store: ObjectStore
    name: str
    bucket: str = BUCKET

    @property
    def path(self) -> str:
        return f"s3a://{self.bucket}/{self.name}"

    @property
    def lists(self) -> str:
        return f"{self.name}/_pme_snapshots/"

    def names(self) -> set[str]:
        """Return the names of the files of its snapshots; a store may have an object for the directory, too."""
        return self.store.names(self.bucket, self.lists) - {""}

    def versions(self) -> list[int]:
        return sorted(int(name[9:19]) for name in self.names() if name.startswith("snapshot-"))

    def manifest(self, version: int) -> bytes:
        content: bytes = self.store.files.cat_file(f"{self.bucket}/{self.lists}snapshot-{version:010}.json")
        return content

    def data(self) -> set[str]:
        return {name for name in self.store.names(self.bucket, f"{self.name}/") if name.startswith("part-")}


@pytest.fixture(scope="module")
def store(spark: SparkSession) -> Iterator[ObjectStore]:
    s3.load(spark)
    with ObjectStore() as made, s3.configured(spark, made.make(BUCKET)):
        yield made


@pytest.fixture
def table(spark: SparkSession, store: ObjectStore, request: pytest.FixtureRequest) -> Table:
    """Return a table of one file with 20 people, in a place of its own."""
    made = Table(store, request.node.name)
    write(people(spark).coalesce(1), made.path)
    return made


def seal(spark: SparkSession, table: Table, **given: Any) -> pme.Sealed:
    """Seal the table as it is."""
    expect = str(table.versions()[-1]) if table.versions() else "unsealed"
    return tables.seal(spark, table.path, expect=expect, **given)


def update(frame: DataFrame, table: Table, mode: str = "append") -> None:
    frame.write.format("pme-parquet").options(**UPDATE).mode(mode).save(table.path)


def of_snapshots(requests: list[Request], operation: str) -> list[tuple[str, int]]:
    """Return what was asked of the files of snapshots: the kind of each, and the status of its answer."""
    found = [one for one in requests if "/_pme_snapshots/" in one.key and one.operation == operation]
    return [(one.key.rpartition("/")[2].partition("-")[0], one.status) for one in found]


def test_a_table_is_sealed_read_appended_to_and_expired(spark: SparkSession, table: Table) -> None:
    assert seal(spark, table).version == 1
    assert ids(spark, table.path, snapshot="require") == list(range(20))
    plant(people(spark, 20).coalesce(1), table.path)
    with refused(MISMATCH, "not in the list"):
        ids(spark, table.path)
    made = seal(spark, table, index=[pme.MinMax("id")])
    assert (made.version, made.files, made.added) == (2, 2, 1)
    assert ids(spark.newSession(), table.path, minSnapshot="2") == list(range(40))
    assert ids(spark, table.path, snapshot=made.digest) == list(range(40))
    assert files_read(load(spark, table.path).where("id < 3")) == 1
    assert files_read(load(spark, table.path).where("id > 99")) == 0

    newest = table.manifest(2)
    listed = pme.snapshots(table.path, storage_options=table.store.storage_options())
    assert [(one.version, one.files) for one in listed] == [(1, 1), (2, 2)]
    assert listed.problems == ()
    indexes = pme.describe_index(table.path, storage_options=table.store.storage_options())
    assert [index.column for index in indexes] == [("id",)]

    # Names of files are random, and decide whether the new file is in the range of the old part.
    before = table.names()
    expired = pme.expire_snapshots(spark, table.path, keep=1, options=KMS)
    gone = before - table.names()
    assert {name for name in gone if name.startswith("snapshot-")} == {"snapshot-0000000001.json"}
    assert (expired.versions, expired.parts) == (1, len(gone) - 1)
    assert table.versions() == [2]
    assert table.manifest(2) == newest
    assert ids(spark, table.path, snapshot="require") == list(range(40))
    assert pme.verify(spark, table.path, options=KMS).collect() == []


def test_a_write_seals_what_it_wrote_and_nothing_that_was_planted(spark: SparkSession, table: Table) -> None:
    # A table that does not exist yet still does not when Spark looks.
    table = table._replace(name=f"{table.name}-new")
    update(people(spark, 100).coalesce(1), table, mode="error")
    update(people(spark, 200).coalesce(1), table)
    assert table.versions() == [1, 2]
    update(people(spark, 300).coalesce(1), table, mode="overwrite")
    assert table.versions() == [1, 2, 3]
    assert ids(spark, table.path, minSnapshot="3") == list(range(300, 320))
    [file] = table.data()
    table.store.files.cp_file(*(f"{table.bucket}/{table.name}/{name}" for name in (file, "part-planted.parquet")))
    with refused(MISMATCH, "the file was added"):
        update(people(spark, 400).coalesce(1), table)
    assert table.data() == {file, "part-planted.parquet"}


def test_of_two_that_seal_at_once_one_wins_and_the_other_can_go_on(spark: SparkSession, table: Table) -> None:
    seal(spark, table)
    before = table.names()
    plant(people(spark, 20).coalesce(1), table.path)
    both = threading.Barrier(2)

    def meet(operation: str, key: str) -> None:
        # Each has listed the versions and found none of this number.
        if operation == "PUT" and key.endswith("snapshot-0000000002.json"):
            both.wait(PATIENCE)

    ended: list[pme.Sealed | Exception] = []

    def run() -> None:
        try:
            ended.append(seal(spark, table))
        except Exception as error:  # noqa: BLE001 - it is checked below
            ended.append(error)

    with table.store.before(meet), table.store.counted() as requests:
        sealers = [threading.Thread(target=run) for _ in range(2)]
        for sealer in sealers:
            sealer.start()
        for sealer in sealers:
            sealer.join()
    assert sorted(of_snapshots(requests, "PUT")) == [("part", 200), ("part", 200), ("snapshot", 200), ("snapshot", 412)]
    [made] = [one for one in ended if isinstance(one, pme.Sealed)]
    [error] = [one for one in ended if isinstance(one, Exception)]
    assert isinstance(error, pme.SnapshotConflictError), error
    assert made.version == 2
    # The loser's part is gone.
    assert len(table.names() - before) == 2
    stands = table.manifest(2)
    assert seal(spark, table).version == 3
    assert table.manifest(2) == stands
    assert ids(spark, table.path, minSnapshot="3") == list(range(40))


def test_a_seal_whose_answer_is_lost_has_succeeded(spark: SparkSession, table: Table) -> None:
    def is_manifest(operation: str, key: str) -> bool:
        return operation == "PUT" and key.endswith(".json")

    with table.store.losing_an_answer(is_manifest), table.store.counted() as requests:
        assert seal(spark, table).version == 1
    # S3A asks again.
    assert of_snapshots(requests, "PUT")[-2:] == [("snapshot", 500), ("snapshot", 412)]
    assert ids(spark, table.path, snapshot="require") == list(range(20))


def test_a_client_without_conditional_writes_seals_elsewhere_only(
    spark: SparkSession, store: ObjectStore, tmp_path: Path
) -> None:
    table = Table(store, "people", "unconditional")
    settings = store.make(table.bucket) | {f"fs.s3a.bucket.{table.bucket}.create.conditional.enabled": "false"}
    with s3.configured(spark, settings):
        write(people(spark).coalesce(1), table.path)
        data = table.data()
        reasons = ["fs.option.create.conditional.overwrite", "hadoop-aws 3.4.2", "snapshotLocation"]
        with refused("PME_UNSUPPORTED", *reasons):
            seal(spark, table)
        with refused("PME_UNSUPPORTED", *reasons):
            update(people(spark, 20).coalesce(1), table)
        assert table.data() == data
        assert not store.files.exists(f"{table.bucket}/{table.lists}")
        elsewhere = tmp_path / "snapshots"
        assert seal(spark, table, location=elsewhere).version == 1
        assert ids(spark, table.path, snapshotLocation=str(elsewhere), snapshot="require") == list(range(20))


def test_a_store_that_ignores_conditions_is_refused(spark: SparkSession, store: ObjectStore) -> None:
    table = Table(store, "people", "careless")
    with s3.configured(spark, store.make(table.bucket)):
        write(people(spark).coalesce(1), table.path)
        store.obeys = False
        try:
            with refused("PME_UNSUPPORTED", "the store replaced an object", "If-None-Match", "snapshotLocation"):
                seal(spark, table)
        finally:
            store.obeys = True
        assert not store.files.exists(f"{table.bucket}/{table.lists}")
        assert seal(spark, table).version == 1


@pytest.mark.nightly
def test_requests_do_not_grow_with_what_is_known(spark: SparkSession, table: Table) -> None:
    seal(spark, table)
    with table.store.counted() as again:
        assert seal(spark, table).opened == 0
    # Nothing is staged, and no existing part is written again.
    assert of_snapshots(again, "PUT") == [("snapshot", 200)]
    assert of_snapshots(again, "GET").count(("snapshot", 206)) == 1
    reader = spark.newSession()
    with table.store.counted() as first:
        ids(reader, table.path)
    with table.store.counted() as second:
        ids(reader, table.path)
    assert of_snapshots(first, "GET").count(("part", 206)) <= 1
    assert of_snapshots(second, "GET").count(("part", 206)) == 0
    # One for the schema, one for the query. A first read also asks the oldest version which key the others are under.
    for requests, most in ((first, 6), (second, 4)):
        asked = Counter(kind for kind, _ in of_snapshots(requests, "HEAD") + of_snapshots(requests, "GET"))
        assert asked["snapshot"] <= most
        assert not [one for one in requests if one.operation in {"PUT", "DELETE", "DELETE*"}]
