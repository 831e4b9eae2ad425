"""The main round trip over Spark Connect, in a process of its own: prints one JSON object with the results.

Arguments: a scratch directory, and the testkit's jar.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import pme_parquet as pme
from tests.support.frames import call

SCHEMA = "id bigint, ssn string, home struct<street: string, zip: int>"
ROWS = [(number, f"canary-{number}", (f"street {number}", number)) for number in range(10)]


def main(scratch: Path, jar: str) -> dict[str, object]:
    """Write, read back, and try a refused write."""
    os.environ["PME_CONNECT_PASSWORD"] = "correct-horse-91aa"
    builder = SparkSession.builder.remote("local[1]").config("spark.jars", jar)
    builder = builder.config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
    spark = pme.configure(builder.config("spark.ui.enabled", "false")).getOrCreate()

    keys = pme.Keystore(str(scratch / "keys.p12"), password=pme.env("PME_CONNECT_PASSWORD"))
    keys.create(["footer", "pii"])
    enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["ssn", "home"]})
    target = str(scratch / "table")
    frame = spark.createDataFrame(ROWS, SCHEMA)
    pme.write(frame, target, enc, mode="overwrite")

    def load(**options: str) -> list[object]:
        reader = spark.read.format("pme-parquet").options(**keys.options() | options)
        return [list(map(plain, row)) for row in reader.load(target).orderBy("id").collect()]

    def plain(value: object) -> object:
        return list(value) if isinstance(value, tuple) else value

    def condition_of(**options: str) -> dict[str, object]:
        try:
            load(**options)
        except pme.PmeError as error:
            return {"condition": error.condition, "text": str(error), "class": type(error).__name__}
        return {"condition": None}

    other = pme.Keystore(str(scratch / "other.p12"), password=pme.env("PME_CONNECT_PASSWORD"))
    other.create(["footer", "pii"])

    def refused_write() -> dict[str, object]:
        wrong = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["sssn"]})
        try:
            frame.write.format("pme-parquet").options(**wrong.options()).save(str(scratch / "never"))
        except pme.PmeError as error:
            return {"condition": error.condition, "text": str(error), "class": type(error).__name__}
        return {"condition": None}

    def forgotten() -> dict[str, object]:
        try:
            frame.write.options(**enc.options()).parquet(str(scratch / "open"))
        except pme.PmeError as error:
            return {"condition": error.condition, "text": str(error), "class": type(error).__name__}
        return {"condition": None}

    def in_sql(column: str, function: str, **arguments: dict[str, str]) -> list[str]:
        query = f"SELECT DISTINCT {column} FROM {call(function, target, options=keys.options(), **arguments)}"
        return sorted(row[0] for row in spark.sql(query).collect())

    seen = {
        "session": type(spark).__module__,
        "rows": load(),
        "read": [list(map(plain, row)) for row in pme.read(spark, Path(target), keys).orderBy("id").collect()],
        "format forgotten": forgotten(),
        "other keystore": condition_of(**other.options()),
        "misspelt": condition_of(footerKy="footer"),
        "unknown column": refused_write(),
        "left behind": (scratch / "never").exists() or (scratch / "open").exists(),
        "rotated": in_sql("status", "pme_rotate", master_keys={"pii": "footer"}),
        "master keys": in_sql("master_key", "pme_key_usage"),
        "diagnosis": pme.doctor(spark, enc).to_dict(),
    }
    spark.stop()
    return seen


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(main(Path(sys.argv[1]), sys.argv[2])) + "\n")
