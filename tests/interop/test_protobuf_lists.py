"""Lists as protobuf's converters write them, repeated fields without annotation, in files of parquet-java."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.expect import refused
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

SCHEMA = """message orders {
  required int32 id;
  repeated int32 xs;
  repeated group people { required binary name (STRING); repeated int32 ages; }
}"""
COUNT = 30
PROPERTIES = {
    "parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
    "parquet.encryption.kms.client.class": TEST_KMS,
    "parquet.encryption.footer.key": "footer",
    "parquet.encryption.column.keys": "pii: xs, people.name, people.ages",
    "parquet.encryption.complete.columns": "true",
}
# The selected column, and its first leaf with levels, as messages name it.
LEAVES = {"xs": "xs.element", "people.name": "people.element.name", "people.ages": "people.element.ages.element"}

every_column = pytest.mark.parametrize("column", LEAVES)
every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])


def expected() -> list[tuple[Any, ...]]:
    return [(n, list(range(n % 4)), [(f"p{n}-{i}", [20 + i] * i) for i in range(n % 3)]) for n in range(COUNT)]


def write(spark: SparkSession, target: Path, version: str) -> None:
    """Write one encrypted file with parquet-java's own writer: Spark's cannot write such a schema."""
    jvm: Any = spark._jvm
    parquet = jvm.org.apache.parquet
    conf = jvm.org.apache.hadoop.conf.Configuration()
    for name, value in PROPERTIES.items():
        conf.set(name, value)
    schema = parquet.schema.MessageTypeParser.parseMessageType(SCHEMA)
    groups = parquet.example.data.simple.SimpleGroupFactory(schema)
    path = jvm.org.apache.hadoop.fs.Path(str(target / "part-0.parquet"))
    builder = parquet.hadoop.example.ExampleParquetWriter.builder(path).withConf(conf).withType(schema)
    pages = parquet.column.ParquetProperties.WriterVersion.fromString(version)
    writer = builder.withWriterVersion(pages).build()
    for number, xs, people in expected():
        row = groups.newGroup().append("id", number)
        for x in xs:
            row.append("xs", x)
        for name, ages in people:
            person = row.addGroup("people").append("name", name)
            for age in ages:
                person.append("ages", age)
        writer.write(row)
    writer.close()


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {version: tmp_path_factory.mktemp(version) for version in ("v1", "v2")}
    for version, target in made.items():
        write(spark, target, version)
    return made


def read(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.read.format("pme-parquet").options(kms=TEST_KMS, **options).load(str(path))


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((row.id, row.xs, [(person.name, person.ages) for person in row.people]) for row in frame.collect())


@every_scan
def test_pages_whose_levels_are_encrypted_are_read(spark: SparkSession, tables: dict[str, Path], scan: str) -> None:
    assert rows(read(spark, tables["v1"], scan=scan)) == expected()


@every_scan
@every_column
def test_clear_levels_are_refused(spark: SparkSession, tables: dict[str, Path], scan: str, column: str) -> None:
    with refused("PME_UNSUPPORTED", ".parquet", f"'{LEAVES[column]}'", "clearLevels=allow"):
        read(spark, tables["v2"], scan=scan).select(column).collect()


@every_scan
def test_clear_levels_are_read_where_they_are_allowed(spark: SparkSession, tables: dict[str, Path], scan: str) -> None:
    assert rows(read(spark, tables["v2"], scan=scan, clearLevels="allow")) == expected()


@every_scan
def test_a_column_without_levels_is_read_with_them(spark: SparkSession, tables: dict[str, Path], scan: str) -> None:
    ids = read(spark, tables["v2"], scan=scan).select("id").collect()
    assert sorted(row.id for row in ids) == list(range(COUNT))
