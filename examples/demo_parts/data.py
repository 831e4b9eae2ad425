"""Real data for the demo: three TPC-H tables from ``tpchgen-cli``, and which key protects which column."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Table:
    """One table: its layout and the keys of its columns. The footer key protects all other columns."""

    name: str
    column_keys: dict[str, list[str]] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()


# Partition values become directory names, which are not encrypted: partition only by values that are not secret.
TABLES = (
    Table("customer", {"pii": ["c_name", "c_address", "c_phone"], "pay": ["c_acctbal"]}),
    Table("orders", {"pii": ["o_clerk"], "pay": ["o_totalprice"]}, ("o_orderstatus",)),
    Table("lineitem", {"pay": ["l_extendedprice", "l_discount", "l_tax"]}, ("l_shipmode",)),
)


def generate(directory: Path, scale: float) -> dict[str, Path]:
    """Return the plaintext Parquet file of each table; generate the missing ones."""
    files = {table.name: directory / f"{table.name}.parquet" for table in TABLES}
    missing = [name for name, file in files.items() if not file.is_file()]
    if missing:
        directory.mkdir(parents=True, exist_ok=True)
        tables = f"--tables={','.join(missing)}"
        subprocess.run(
            [generator(), "parquet", f"--scale-factor={scale}", tables, f"--output-dir={directory}"],
            check=True,
        )
    return files


def generator() -> str:
    """Return the ``tpchgen-cli`` of this virtual environment, else the one on the path."""
    beside = Path(sys.executable).parent / "tpchgen-cli"
    found = str(beside) if beside.is_file() else shutil.which("tpchgen-cli")
    if found is None:
        sys.exit("tpchgen-cli is not installed. Run `make demo`, or: pip install tpchgen-cli")
    return found
