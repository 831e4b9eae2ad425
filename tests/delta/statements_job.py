"""A session of an operator, who follows what `pme-parquet delta-encrypt` has said is left to do.

Run as ``python -m tests.delta.statements_job SCRATCH TABLE STATEMENT…``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.delta.delta_tables import Result, session
from tests.delta.encrypt_tables import Encrypting, follow
from tests.support.processes import picked, print_result


def main() -> None:
    scratch, table, *statements = sys.argv[1:]
    spark = session(Path(scratch))
    job = Encrypting(spark, Path(scratch))
    follow(job, "advice", table, statements)
    spark.stop()
    print_result(picked(Result, job))


if __name__ == "__main__":
    main()
