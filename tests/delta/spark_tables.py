"""Makes `tests/data/delta/spark.zip`: tables that Delta's own writer made, with canaries in their protected columns.

Run it by hand, with a PySpark that Delta has a release for:

    pip install pyspark==4.1.4
    python -m tests.delta.spark_tables target/jars/testkit/pme-parquet-testkit_2.13-0.1.0.jar

The keys are those of the testkit's `TestKms`.
"""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

PACKAGE = "io.delta:delta-spark_4.1_2.13:4.4.0"
OUT = Path(__file__).resolve().parents[1] / "data" / "delta" / "spark.zip"
FACTORY = {
    "parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
    "parquet.encryption.kms.client.class": "io.pmeparquet.testkit.TestKms",
}
KEYS = {"parquet.encryption.footer.key": "footer", "parquet.encryption.column.keys": "pii: ssn"}
COLUMNS = "id BIGINT, ssn STRING, note STRING"
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def settings(spark: SparkSession, values: dict[str, str]) -> None:
    """Set Hadoop's configuration, and remove what another table has set."""
    hadoop = spark._jsc.hadoopConfiguration()
    for name in (*KEYS, "parquet.encryption.uniform.key", *FACTORY):
        hadoop.unset(name)
    for name, value in values.items():
        hadoop.set(name, value)


def work(spark: SparkSession, path: Path, properties: dict[str, str], more: str = "") -> None:
    """Create, append, MERGE, UPDATE, DELETE."""
    shown = ", ".join(f"'{name}'='{value}'" for name, value in properties.items())
    table = f"delta.`{path}`"
    spark.sql(f"CREATE TABLE {table} ({COLUMNS}) USING delta {more} TBLPROPERTIES ({shown})")
    rows = ", ".join(f"({number}, 'CANARY-SSN-{number}', 'note {number}')" for number in range(5))
    spark.sql(f"INSERT INTO {table} VALUES {rows}")
    spark.sql(f"INSERT INTO {table} VALUES (5, 'CANARY-SSN-5', 'more'), (6, 'CANARY-SSN-6', 'more')")
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT 9L AS id, 'CANARY-MERGED' AS ssn) s ON t.ssn = s.ssn "
        "WHEN MATCHED AND s.ssn = 'CANARY-MATCHED' THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (id, ssn, note) VALUES (s.id, s.ssn, 'merged')"
    )
    spark.sql(f"UPDATE {table} SET note = 'updated' WHERE ssn = 'CANARY-SSN-5'")
    spark.sql(f"DELETE FROM {table} WHERE ssn = 'CANARY-SSN-6'")


def make(spark: SparkSession, root: Path) -> None:
    """Make all tables."""
    often = {"delta.checkpointInterval": "3"}
    settings(spark, FACTORY)
    work(spark, root / "properties", KEYS | often | {"delta.enableChangeDataFeed": "true"})
    settings(spark, FACTORY | {"parquet.encryption.uniform.key": "footer"})
    work(spark, root / "uniform", often)
    settings(spark, FACTORY | KEYS)
    work(spark, root / "columns", often)
    settings(spark, {})
    mapped = {
        "delta.columnMapping.mode": "name",
        "delta.enableDeletionVectors": "true",
        "delta.checkpointPolicy": "v2",
        "delta.feature.allowColumnDefaults": "supported",
    }
    work(spark, root / "mapped", often | mapped)
    table = f"delta.`{root / 'mapped'}`"
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN ssn TO tax_id")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN tax_id SET DEFAULT 'CANARY-DEFAULT'")
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT known CHECK (tax_id <> 'CANARY-CHECKED')")
    spark.sql(f"INSERT INTO {table} VALUES (7, 'CANARY-SSN-7', 'renamed')")
    work(spark, root / "partitioned", often, "PARTITIONED BY (ssn)")


def main() -> None:
    """Make the tables, without the checksums of Hadoop's local file system, and zip them."""
    with TemporaryDirectory() as directory:
        builder = SparkSession.builder.master("local[1]").config("spark.jars.packages", PACKAGE)
        for name, value in (DELTA | {"spark.jars": sys.argv[1]}).items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        root = Path(directory) / "tables"
        make(spark, root)
        spark.stop()
        for checksum in root.rglob(".*.crc"):
            checksum.unlink()
        with zipfile.ZipFile(OUT, "w", zipfile.ZIP_DEFLATED) as made:
            for path in sorted(path for path in root.rglob("*") if path.is_file()):
                made.writestr(zipfile.ZipInfo(str(path.relative_to(root)), (2026, 1, 1, 0, 0, 0)), path.read_bytes())
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
