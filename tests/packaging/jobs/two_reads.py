"""Writes a table and reads it twice, with the reader that the format chooses. Argument: the table."""

import sys

from pyspark.sql import SparkSession

import pme_parquet as pme


def main(path: str) -> None:
    spark = pme.configure(SparkSession.builder).getOrCreate()
    keys = pme.Static(pme.env("PME_PACKAGING_KEYS"))
    enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["name"]})
    rows = spark.range(100).selectExpr("id", "'canary-' || id AS name")
    rows.write.format("pme-parquet").options(**enc.options()).save(path)
    for _ in range(2):
        frame = spark.read.format("pme-parquet").options(**keys.options()).load(path)
        found = frame.where("name > 'canary-4'").count()
        print(f"ROWS {found}")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
