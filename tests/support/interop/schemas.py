"""Files with any schema, written by parquet-java itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

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
