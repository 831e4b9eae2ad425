"""A session of an operator, who follows what `pme-parquet delta-encrypt` has said is left to do.

Run as ``python -m tests.delta.statements_job SCRATCH TABLE STATEMENT…``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.delta.delta_tables import session
from tests.delta.encrypt_tables import Encrypting, follow


def main() -> None:
    scratch, table, *statements = sys.argv[1:]
    spark = session(Path(scratch))
    follow(Encrypting(spark, Path(scratch), {"advice": {"statements": statements}}), "advice", table)
    spark.stop()
    sys.stdout.write("{}\n")


if __name__ == "__main__":
    main()
