"""Overwrites a table from a session that is not the active one: ``session_job.py SCRATCH TABLE KEYSTORE_OPTIONS``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.session import EXTENSION, builder, session_settings


def main(scratch: str, table: str, keys: str) -> None:
    """Write a table, overwrite it with a key for a missing column, and print the condition and the remaining files."""
    settings = session_settings(Path(scratch)) | {"spark.sql.extensions": EXTENSION}
    spark = builder(settings, "local[1]").getOrCreate()
    options = {**json.loads(keys), "footerKey": "footer"}
    other = spark.newSession()
    other.range(3).write.format("pme-parquet").options(**options).save(table)
    before = [path.name for path in data_files(table)]
    condition = ""
    try:
        wrong = options | {"columnKeys": "pii: absent"}
        spark.newSession().range(4).write.format("pme-parquet").options(**wrong).mode("overwrite").save(table)
    except pme.PmeError as error:
        condition = error.condition
    left = [path.name for path in data_files(table)]
    sys.stdout.write(json.dumps({"condition": condition, "left": left == before != []}) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
