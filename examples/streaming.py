"""Structured Streaming: an encrypted sink that survives a restart, and the same table as a source.

    python examples/streaming.py --out /tmp/streaming

The options are the same as for a batch write. Spark keeps a checkpoint next to the table, with offsets and file names
but no rows.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pyspark.sql import SparkSession

import pme_parquet as pme
from example_keys import keystore

SCHEMA = "reading long, patient string, pulse int"


def main() -> None:
    """Write two batches with a restart between them, then read the table as a stream."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=Path("target/streaming"), help="directory for all output")
    out: Path = parser.parse_args().out.resolve()

    keys = keystore(out)
    enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": "patient"})
    spark = pme.configure(SparkSession.builder.master("local[2]").appName("streaming")).getOrCreate()
    table = str(out / "pulse")

    for batch in range(2):
        arrive(out / "incoming", batch)
        sink = (
            spark.readStream.schema(SCHEMA)
            .json(str(out / "incoming"))
            .writeStream.format("pme-parquet")
            .options(**enc.options())
            .option("checkpointLocation", str(out / "checkpoint"))
            .trigger(availableNow=True)
            .start(table)
        )
        sink.awaitTermination()
        rows = spark.read.format("pme-parquet").options(**keys.options()).load(table).count()
        print(f"batch {batch + 1}: the encrypted table has {rows} rows")

    source = spark.readStream.format("pme-parquet").options(**keys.options()).schema(SCHEMA).load(table)
    query = source.writeStream.format("memory").queryName("pulses").trigger(availableNow=True).start()
    query.awaitTermination()
    spark.sql("SELECT patient, max(pulse) AS highest FROM pulses GROUP BY patient ORDER BY patient").show()
    spark.stop()


def arrive(directory: Path, batch: int) -> None:
    """Put a file of three readings into the directory that the stream reads."""
    directory.mkdir(parents=True, exist_ok=True)
    readings = [{"reading": 3 * batch + i, "patient": f"P-{i}", "pulse": 60 + 7 * i + batch} for i in range(3)]
    lines = "\n".join(json.dumps(reading) for reading in readings)
    (directory / f"batch-{batch}.json").write_text(lines)


if __name__ == "__main__":
    main()
