"""Uses only Spark and resolved jars, without the connector's extension. Prints what came of each way, as JSON.

Arguments: a directory, and the clouds whose KMS clients are made as parquet-java makes them.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Callable

KMS = {"kms": "static", "kms.static.keys": "env:PME_PACKAGING_KEYS"}
WRITE = {**KMS, "footerKey": "footer", "columnKeys": "pii: name"}
FORMAT, OURS = "pme-parquet", "spark.datasource.pme-parquet."
CLASSES = {"aws": "AwsKmsClient", "gcp": "GcpKmsClient", "azure": "AzureKmsClient"}


def ways(spark: SparkSession, path: str) -> dict[str, Callable[[], int]]:
    """Return ways to count the rows of a table."""
    reader = spark.read.format(FORMAT).options(**KMS)
    listed = ", ".join(f"`{name}` '{value}'" for name, value in KMS.items())

    def temporary_view() -> int:
        spark.sql(f"CREATE TEMPORARY VIEW view USING `{FORMAT}` OPTIONS (path '{path}', {listed})")
        return spark.table("view").count()

    def stream() -> int:
        source = spark.readStream.schema("id BIGINT, name STRING").format(FORMAT).options(**KMS).load(path)
        sink = source.writeStream.format(FORMAT).options(**WRITE).option("checkpointLocation", f"{path}-checkpoint")
        sink.trigger(availableNow=True).start(f"{path}-copy").awaitTermination()
        return spark.read.format(FORMAT).options(**KMS).load(f"{path}-copy").count()

    def table() -> int:
        reader.load(path).write.format(FORMAT).options(**WRITE).saveAsTable("stored")
        return 0

    def stored() -> int:
        return spark.table("stored").count()

    def stored_with_session() -> int:
        for name, value in KMS.items():
            spark.conf.set(OURS + name, value)
        return spark.table("stored").count()

    return {
        "frame": lambda: reader.load(path).where("name LIKE 'canary-%'").count(),
        "v2": lambda: spark.read.format(FORMAT).options(**KMS, scan="v2").load(path).count(),
        "temporary view": temporary_view,
        "stream": stream,
        "saveAsTable": table,
        "stored": stored,
        "stored, with the session's KMS": stored_with_session,
        "path in SQL": lambda: spark.sql(f"SELECT * FROM `{FORMAT}`.`{path}`").count(),
        "new session": lambda: spark.newSession().read.format(FORMAT).options(**KMS).load(path).count(),
    }


def outcome(way: Callable[[], int]) -> int | str:
    try:
        return way()
    except Exception as error:
        found = re.search(r"\[(PME_\w+)\]", str(error))
        if found is None:
            raise
        return found[1]


def loaded(spark: SparkSession, cloud: str) -> str:
    """Make the client of a cloud's KMS, and return the name of its class."""
    jvm: Any = spark._jvm
    conf = jvm.org.apache.hadoop.conf.Configuration()
    conf.set("parquet.encryption.kms.aws.region", "eu-central-1")
    conf.set("parquet.encryption.kms.azure.vaultUrl", "https://acme.vault.azure.net")
    kind = conf.getClassByName(f"io.pmeparquet.kms.{cloud}.{CLASSES[cloud]}")
    conf.set("parquet.encryption.kms.gcp.credentials", service_account())
    client = jvm.org.apache.hadoop.util.ReflectionUtils.newInstance(kind, conf)
    client.initialize(conf, "DEFAULT", "DEFAULT", "DEFAULT")
    return str(kind.getSimpleName())


def service_account() -> str:
    """Return the JSON of a new service account key."""
    key = rsa.generate_private_key(65537, 2048)
    return json.dumps(
        {
            "type": "service_account",
            "client_id": "1",
            "client_email": "nobody@tests.invalid",
            "private_key_id": "1",
            "private_key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
            "token_uri": "http://127.0.0.1:1/token",
        }
    )


def main(directory: str, *clouds: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    path = f"{directory}/table"
    frame = spark.range(100).selectExpr("id", "'canary-' || id AS name")
    frame.write.format(FORMAT).options(**WRITE).save(path)
    counted = {name: outcome(way) for name, way in ways(spark, path).items()}
    print(json.dumps({"ways": counted, "clients": [loaded(spark, cloud) for cloud in clouds]}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
