"""Writes with both keys, reads, and reads as somebody who lacks a column's key: an executor refuses it.

Arguments: the table, and a file that lists only the footer's key. The installed wheel's classes are used, and the jar
is already there. The schema is given, so that executors are the first to read. The last read is by Amazon's provider.
"""

import sys
from typing import Any

from pyspark.sql import SparkSession

import pme_parquet as pme
from pme_parquet_accp import jar_path


def main(path: str, fewer: str) -> None:
    spark = pme.configure(SparkSession.builder).getOrCreate()
    keys = pme.Static(pme.env("PME_PACKAGING_KEYS"))
    enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["name"]})
    rows = spark.range(100).selectExpr("id", "'canary-' || id AS name")
    rows.write.format("pme-parquet").options(**enc.options()).save(path)
    everything = spark.read.format("pme-parquet").schema(rows.schema)
    found = everything.options(**keys.options()).load(path).where("name LIKE 'canary-%'").count()
    print(f"ROWS {found}")
    limited = everything.options(**pme.Static(pme.file(fewer)).options()).load(path)
    print(f"OTHERS {limited.selectExpr('sum(id)').first()[0]}")  # type: ignore[index]
    try:
        limited.selectExpr("max(name)").collect()
    except pme.PmeError as error:
        print(f"REFUSED {error.condition} {error}")
    if jar := jar_path():
        # A driver that runs already does not get the jars of a session, which executors get.
        jvm: Any = spark._jvm
        jvm.java.lang.Thread.currentThread().getContextClassLoader().addURL(jvm.java.io.File(jar).toURI().toURL())
        amazons = everything.options(**keys.options()).option("cryptoProvider", "AmazonCorrettoCryptoProvider")
        print(f"AMAZONS {amazons.load(path).selectExpr('sum(id)').first()[0]}")  # type: ignore[index]
    print(f"PACKAGE {pme.__file__}")
    print(f"JARS {spark.sparkContext.getConf().get('spark.jars')}")
    print(f"EXTENSIONS {spark.conf.get('spark.sql.extensions')}")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
