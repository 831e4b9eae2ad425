"""Writing, reading and querying: the same code for Spark's plaintext ``parquet`` and for ``pme-parquet``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pme_parquet as pme
from demo_parts.data import TABLES, Table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, Row, SparkSession

FORMAT = "pme-parquet"


@dataclass(frozen=True)
class Copy:
    """One copy of the three tables: its format and directory, and the keystores that write and read it."""

    format: str
    directory: Path
    writer: pme.Keystore | None = None
    reader: pme.Keystore | None = field(default=None, kw_only=True)

    def write(self, spark: SparkSession, source: Path, table: Table) -> None:
        """Write one table, partitioned, in this copy's format."""
        frame = spark.read.parquet(str(source))
        writer = frame.write.format(self.format).mode("overwrite").partitionBy(*table.partition_by)
        if self.writer is not None:
            encryption = pme.Encryption(kms=self.writer, footer_key="footer", column_keys=table.column_keys)
            writer = writer.options(**encryption.options())
        writer.save(self.path(table.name))

    def write_all(self, spark: SparkSession, sources: dict[str, Path]) -> None:
        """Write every table."""
        for table in TABLES:
            self.write(spark, sources[table.name], table)

    def read(self, spark: SparkSession, table: str) -> DataFrame:
        """Return one table of this copy, with the reader's keys."""
        keys = self.reader or self.writer
        reader = spark.read.format(self.format)
        return (reader.options(**keys.options()) if keys else reader).load(self.path(table))

    def path(self, table: str) -> str:
        """Return the directory of one table."""
        return str(self.directory / table)

    def as_seen_by(self, reader: pme.Keystore) -> Copy:
        """Return the same files, read with another keystore."""
        return Copy(self.format, self.directory, self.writer, reader=reader)

    def scan(self, spark: SparkSession) -> None:
        """Read every column of every row of every table, and discard them."""
        for table in TABLES:
            self.read(spark, table.name).write.format("noop").mode("overwrite").save()


def best_returns(spark: SparkSession, copy: Copy) -> list[Row]:
    """Join the three tables: the customers who returned most (from TPC-H query 10). Needs every key."""
    customer, orders, lineitem = (copy.read(spark, name) for name in ("customer", "orders", "lineitem"))
    return (
        lineitem.where("l_returnflag = 'R'")
        .join(orders, lineitem.l_orderkey == orders.o_orderkey)
        .join(customer, orders.o_custkey == customer.c_custkey)
        .groupBy("c_custkey", "c_name", "c_phone")
        .agg({"l_extendedprice": "sum"})
        .withColumnRenamed("sum(l_extendedprice)", "returned")
        .orderBy("returned", "c_custkey", ascending=False)
        .limit(5)
        .collect()
    )


def sales_by_segment(spark: SparkSession, copy: Copy) -> list[Row]:
    """Join customers and orders without a personal column: a reader without the key ``pii`` can still do this."""
    customer, orders = copy.read(spark, "customer"), copy.read(spark, "orders")
    return (
        orders.join(customer, orders.o_custkey == customer.c_custkey)
        .groupBy("c_mktsegment")
        .agg({"o_totalprice": "sum"})
        .withColumnRenamed("sum(o_totalprice)", "sales")
        .orderBy("c_mktsegment")
        .collect()
    )
