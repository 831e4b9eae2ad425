"""Rotates a table in a session that has our extension and uses only SQL: ``extension_job.py SCRATCH QUERY``."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes import print_result
from tests.support.session import EXTENSION, builder, session_settings


@dataclass(frozen=True)
class Result:
    """The rows, each by its `repr`."""

    rows: list[str]


def main(scratch: str, query: str) -> None:
    settings = session_settings(Path(scratch)) | {"spark.sql.extensions": EXTENSION}
    spark = builder(settings, "local[1]").getOrCreate()
    rows = [repr(tuple(row)) for row in spark.sql(query).collect()]
    spark.stop()
    print_result(Result(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
