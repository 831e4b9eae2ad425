"""Prints which JCE provider reads: on the driver by `auto`, and whether executors have Amazon's.

Arguments: the table, and `configure` for a session with what the installed package adds, or `plain` for one without.
"""

import sys
from typing import Any

from pyspark.sql import DataFrameReader, SparkSession

import pme_parquet as pme

AMAZONS = "AmazonCorrettoCryptoProvider"


def total(read: DataFrameReader, path: str) -> int:
    [row] = read.load(path).selectExpr("sum(id)").collect()
    return int(row[0])


def main(path: str, how: str) -> None:
    builder = SparkSession.builder
    spark = (pme.configure(builder) if how == "configure" else builder).getOrCreate()
    keys = pme.Static(pme.env("PME_PACKAGING_KEYS"))
    enc = pme.Encryption(kms=keys, footer_key="footer")
    spark.range(100).write.format("pme-parquet").options(**enc.options()).save(path)
    jvm: Any = spark._jvm
    print(f"AUTO {jvm.io.pmeparquet.cipher.CryptoProvider.of('auto').name()}")
    read = spark.read.format("pme-parquet").schema("id BIGINT").options(**keys.options())
    print(f"SUM {total(read, path)}")
    try:
        print(f"NAMED {total(read.option('cryptoProvider', AMAZONS), path)}")
    except pme.UnsupportedError as error:
        print(f"REFUSED {error.condition} {error}".replace("\n", " "))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
