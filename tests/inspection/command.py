"""`pme-parquet inspect` in a process of its own."""

from __future__ import annotations

import subprocess
import sys

COMMAND = [sys.executable, "-c", "from pme_parquet.cli import main; main()"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, "inspect", *arguments], capture_output=True, text=True, check=False)
