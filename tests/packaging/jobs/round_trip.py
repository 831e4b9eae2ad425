"""Writes and reads an encrypted table with only Spark and the connector's jar. Argument: the table."""

import sys

from pyspark.sql import SparkSession

KMS = {"kms": "static", "kms.static.keys": "env:PME_PACKAGING_KEYS"}


def main(path: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    options = {**KMS, "footerKey": "footer", "columnKeys": "pii: name"}
    spark.range(100).selectExpr("id", "'canary-' || id AS name").write.format("pme-parquet").options(**options).save(
        path
    )
    rows = spark.read.format("pme-parquet").options(**KMS).load(path).where("name LIKE 'canary-%'").count()
    print(f"ROWS {rows}")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
