"""Writes and reads with the installed wheel's classes; the jar is already there. Argument: the table."""

import sys

from pyspark.sql import SparkSession

import pme_parquet as pme


def main(path: str) -> None:
    spark = pme.configure(SparkSession.builder).getOrCreate()
    keys = pme.Static(pme.env("PME_PACKAGING_KEYS"))
    enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["name"]})
    rows = spark.range(100).selectExpr("id", "'canary-' || id AS name")
    rows.write.format("pme-parquet").options(**enc.options()).save(path)
    count = spark.read.format("pme-parquet").options(**keys.options()).load(path).where("name LIKE 'canary-%'").count()
    print(f"ROWS {count}")
    print(f"PACKAGE {pme.__file__}")
    print(f"JARS {spark.sparkContext.getConf().get('spark.jars')}")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
