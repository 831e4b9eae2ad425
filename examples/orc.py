"""Encrypted ORC: the owner reads values, an analyst is refused them, and nobody takes a mask for data.

    python examples/orc.py --out /tmp/orc

Spark's own ORC source reads and writes. The options give it keys.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import pme_parquet as pme
from example_keys import keystore

ROWS = [(1, "Ada", "London", 3.5), (2, "Grace", "New York", 4.0), (3, "Alan", "London", 2.5)]


def main() -> None:
    """Write a table with a masked column, and read it as its owner and as an analyst."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=Path("target/orc"), help="directory for all output")
    out: Path = parser.parse_args().out.resolve()

    owner = keystore(out)
    analyst = without_pii(out)
    spark = pme.configure(SparkSession.builder.master("local[2]").appName("orc")).getOrCreate()
    table = str(out / "people")

    people = spark.createDataFrame(ROWS, "id long, name string, city string, hours double")
    writer = people.write.format("pme-orc").options(**owner.options()).mode("overwrite")
    writer.option("columnKeys", "pii: name").option("orc.mask", "sha256:name").save(table)

    print("The owner reads names:")
    read(spark, table, owner).orderBy("id").show()

    few = read(spark, table, analyst)
    print("The analyst reads what needs no key:")
    few.groupBy("city").sum("hours").orderBy("city").show()
    try:
        few.select("name").collect()
    except pme.PmeError as refused:
        print(f"and is refused names: {refused.condition}\n")

    print("The analyst asks for NULL in their place, and then for masks:")
    read(spark, table, analyst, deniedColumns="null").orderBy("id").show()
    read(spark, table, analyst, orcMasks="allow").orderBy("id").show()
    spark.stop()


def read(spark: SparkSession, table: str, keys: pme.Keystore, **options: str) -> DataFrame:
    """Return the table as a holder of these keys sees it."""
    return spark.read.format("pme-orc").options(**keys.options(), **options).load(table)


def without_pii(directory: Path) -> pme.Keystore:
    """Return a keystore that has no key but ``footer``, with the same password."""
    path = directory / "analyst.p12"
    keys = pme.Keystore(str(path), password=pme.file(str(directory / "password")))
    if not path.exists():
        keys.create(["footer"])
    return keys


if __name__ == "__main__":
    main()
