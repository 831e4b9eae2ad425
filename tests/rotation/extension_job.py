"""Rotates a table in a session that has our extension and uses only SQL: ``extension_job.py SCRATCH QUERY``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.support.session import EXTENSION, builder, session_settings


def main(scratch: str, query: str) -> None:
    """Write the rows, as JSON."""
    settings = session_settings(Path(scratch)) | {"spark.sql.extensions": EXTENSION}
    spark = builder(settings, "local[1]").getOrCreate()
    rows = [row.asDict() for row in spark.sql(query).collect()]
    sys.stdout.write(json.dumps(rows) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
