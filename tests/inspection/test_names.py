"""Columns have one name, the one that `columnKeys` takes: `inspect` shows it without a JVM, the connector with one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pme_parquet as pme
from pme_parquet._inspect.names import Names
from pme_parquet._inspect.thrift import parse
from tests.support.files.thrift import varint
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


# Lists and maps in all their forms, and names that need backticks.
SCHEMAS = {
    "three levels": "optional group a (LIST) { repeated group list { optional int32 element; } }",
    "two levels": "optional group a (LIST) { repeated int32 array; }",
    "two levels of structs": "optional group a (LIST) { repeated group array { optional int32 x; } }",
    "two levels by Thrift": "optional group a (LIST) { repeated group a_tuple { optional int32 x; } }",
    "other names": "optional group a (LIST) { repeated group bag { optional int32 item; } }",
    "lists of lists": "optional group a (LIST) { repeated group list { optional group element (LIST) "
    "{ repeated group list { optional group element { optional int32 x; optional int32 y; } } } } }",
    "a list of several": "optional group a (LIST) { repeated group list { optional int32 x; optional int32 y; } }",
    "no list": "optional group a { repeated group list { optional int32 element; } }",
    "repeated fields": "repeated int32 a; repeated group b { optional int32 x; repeated int32 y; }",
    "a map": "optional group a (MAP) { repeated group key_value { required binary k (UTF8); optional int32 v; } }",
    "an old map": "optional group a (MAP_KEY_VALUE) { repeated group map { required binary key; optional int32 v; } }",
    "a map of structs": "optional group a (MAP) { repeated group key_value { required binary key (UTF8); "
    "optional group value { optional group in (LIST) { repeated group list { optional int32 element; } } } } }",
    "a set": "optional group a (MAP) { repeated group key_value { required binary key (UTF8); } }",
    "odd names": "optional int32 a.b; optional group `c { optional int32 d-e; optional int32 größe; }",
}
# No column is under this key, so each column is a finding.
NOBODY = {"kms": TEST_KMS, "columnKeys": "nobody: nowhere", "unlistedColumns": "error"}


def test_inspect_verify_and_key_usage_name_columns_alike(spark: SparkSession, tmp_path: Path) -> None:
    for name, schema in SCHEMAS.items():
        (tmp_path / name).mkdir()
        write(spark, tmp_path / name, schema)
    names = {file.file: [column.name for column in file.columns or ()] for file in pme.inspect(tmp_path).files}
    assert {file.split("/")[0] for file in names} == set(SCHEMAS)
    assert all(names.values())
    found: dict[str, list[str]] = {}
    for row in pme.verify(spark, tmp_path, options=NOBODY).collect():
        found.setdefault("/".join(unquote(row.file).split("/")[-2:]), []).append(row.column)
    assert found == names
    for file, listed in names.items():
        [usage] = pme.key_usage(spark, str(tmp_path / file), options={"kms": TEST_KMS}).collect()
        assert usage["columns"] == sorted(listed), file
        # As a user types them.
        keys = {"kms": TEST_KMS, "footerKey": "footer", "columnKeys": f"footer: {', '.join(listed)}"}
        assert pme.verify(spark, tmp_path / file, options=keys | {"unlistedColumns": "error"}).collect() == [], file


def test_a_schema_of_any_depth_is_read_in_bounds() -> None:
    depth = 100_000
    # SchemaElement: its type is 1, its name 4, the number of its children 5.
    inner, leaf = b"\x48\x01a\x15\x02\x00", b"\x15\x02\x38\x01a\x00"
    # The list is field 2 of FileMetaData.
    footer = b"\x29\xfc" + varint(depth + 1) + inner * depth + leaf + b"\x00"
    names = Names()
    parse(footer, {2: names.field})
    assert names.of([b"b.c", b"d"]) == "`b.c`.d"


PROPERTIES = {
    "parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
    "parquet.encryption.kms.client.class": TEST_KMS,
    "parquet.encryption.uniform.key": "footer",
    "parquet.encryption.plaintext.footer": "true",
}


def write(spark: SparkSession, target: Path, schema: str) -> None:
    """Write one file of one row without values with parquet-java's own writer."""
    jvm: Any = spark._jvm
    parquet = jvm.org.apache.parquet
    conf = jvm.org.apache.hadoop.conf.Configuration()
    for name, value in PROPERTIES.items():
        conf.set(name, value)
    message = parquet.schema.MessageTypeParser.parseMessageType(f"message m {{ {schema} }}")
    path = jvm.org.apache.hadoop.fs.Path(str(target / "part-0.parquet"))
    builder = parquet.hadoop.example.ExampleParquetWriter.builder(path).withType(message).withConf(conf)
    writer = builder.build()
    writer.write(parquet.example.data.simple.SimpleGroupFactory(message).newGroup())
    writer.close()
