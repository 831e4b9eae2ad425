"""SQL: catalog tables, CTAS, and files by path.

    python examples/sql_tables.py --out /tmp/sql

The session says where the keys are, and a table says which keys protect it. A table's own KMS options are not trusted.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from pyspark.sql import SparkSession

import pme_parquet as pme
from example_keys import keystore


def main() -> None:
    """Create, fill and read tables in SQL."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=Path("target/sql"), help="directory for all output")
    out: Path = parser.parse_args().out.resolve()

    keys = keystore(out)
    # An earlier run left its files, but this catalog does not keep its tables.
    shutil.rmtree(out / "warehouse", ignore_errors=True)
    builder = (
        SparkSession.builder.master("local[2]").appName("sql").config("spark.sql.warehouse.dir", str(out / "warehouse"))
    )
    spark = pme.configure(builder).getOrCreate()
    for name, value in keys.options().items():
        spark.conf.set(f"spark.datasource.pme-parquet.{name}", value)
    enc = pme.Encryption(footer_key="footer", column_keys={"pii": ["name", "phone"]})

    # The format's name contains a hyphen, so it needs backticks.
    spark.sql(
        "CREATE TABLE people (id INT, name STRING, phone STRING, city STRING) USING `pme-parquet` "
        f"OPTIONS ({sql_options(enc.options())}) PARTITIONED BY (city)"
    )
    spark.sql("INSERT INTO people VALUES (1, 'Ada', '555-0101', 'London'), (2, 'Grace', '555-0102', 'New York')")
    spark.sql("INSERT INTO people VALUES (3, 'Alan', '555-0103', 'London')")
    spark.sql("SELECT city, count(*) AS people FROM people GROUP BY city ORDER BY city").show()

    query = "SELECT id, name, phone FROM people WHERE city = 'London'"
    spark.sql(f"CREATE TABLE londoners USING `pme-parquet` OPTIONS ({sql_options(enc.options())}) AS {query}")

    path = out / "warehouse" / "londoners"
    spark.sql(f"SELECT name, phone FROM `pme-parquet`.`{path}` ORDER BY id").show()  # noqa: S608  our own path
    spark.stop()


def sql_options(options: dict[str, str]) -> str:
    """Return the options in SQL syntax."""
    quoted = {name: value.replace("\\", "\\\\").replace("'", "\\'") for name, value in options.items()}
    return ", ".join(f"`{name}` '{value}'" for name, value in quoted.items())


if __name__ == "__main__":
    main()
