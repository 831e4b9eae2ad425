"""Where canaries are readable below a Delta table, and whether a check says so."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from tests.support.canary import find_canaries

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pme_parquet.delta import DeltaCheck


def readable(table: Path, canaries: Iterable[str]) -> set[str]:
    """Return the files with a canary in their name, their bytes, or their columns of plaintext Parquet."""
    wanted = tuple(canaries)
    found = {os.path.relpath(one.file, table) for one in find_canaries(table, wanted)}
    for path in table.rglob("*.parquet"):
        if path.is_file() and path.read_bytes()[-4:] == b"PAR1" and any(one in _text(path) for one in wanted):
            found.add(str(path.relative_to(table)))
    return found


def _text(path: Path) -> str:
    """Return what anyone can read of a file: nothing of encrypted columns."""
    with pq.ParquetFile(path) as file:
        return " ".join(_column(file, file.schema.column(at).path) for at in range(len(file.schema)))


def _column(file: pq.ParquetFile, name: str) -> str:
    try:
        return str(file.read(columns=[name]).to_pylist())
    except OSError:  # encrypted
        return ""


def told(found: DeltaCheck) -> set[str]:
    """Return the files of which a check says that something is readable."""
    return {finding.file for finding in found.findings if finding.severity in {"high", "low"}}


def assert_told(table: Path, found: DeltaCheck, canaries: Iterable[str]) -> set[str]:
    """Fail if a canary is readable in a file without a finding, or in the result; return the files with one."""
    wanted = tuple(canaries)
    files = {masked(file, wanted) for file in readable(table, wanted)}
    assert files <= told(found), f"not told: {sorted(files - told(found))}"
    shown = json.dumps(found.to_dict()) + str(found) + found._repr_html_()
    assert not [canary for canary in wanted if canary in shown]
    return files


def masked(file: str, canaries: Iterable[str]) -> str:
    """Return a path as a check shows it."""
    for canary in sorted(canaries, key=len, reverse=True):
        file = file.replace(f"={canary}/", "=…/")
    return file
