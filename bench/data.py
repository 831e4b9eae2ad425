"""TPC-H from ``tpchgen-cli``, and the copies of each table: made once, and again when what makes them has changed."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pme_parquet as pme
from bench.process import run_job

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.job import Job, Step, View
    from bench.place import Place
    from bench.tables import Table
    from bench.variants import Variant

SOURCES = ("lineitem", "part")


def generate(directory: Path, scale: float) -> dict[str, View]:
    """Return the plaintext source of each table; generate the missing ones."""
    files = {name: directory / f"{name}.parquet" for name in SOURCES}
    missing = [name for name, file in files.items() if not file.is_file()]
    if missing:
        directory.mkdir(parents=True, exist_ok=True)
        tables = f"--tables={','.join(missing)}"
        subprocess.run(
            [generator(), "parquet", f"--scale-factor={scale}", tables, f"--output-dir={directory}"],
            check=True,
            capture_output=True,
        )
    return {name: {"format": "parquet", "options": {}, "path": str(file)} for name, file in files.items()}


def generator() -> str:
    """Return the ``tpchgen-cli`` of this virtual environment, else the one on the path."""
    beside = Path(sys.executable).parent / "tpchgen-cli"
    found = str(beside) if beside.is_file() else shutil.which("tpchgen-cli")
    if found is None:
        sys.exit("tpchgen-cli is not installed. Run `make bench`, or: pip install -r python/requirements/bench.txt")
    return found


def make_copies(place: Place, variants: Iterable[Variant], tables: Iterable[Table]) -> None:
    """Write the tables in the copy of each variant; variants that share a copy write the same."""
    writers = {variant.copy: variant for variant in variants if variant.engine == "spark"}
    wanted = list(tables)
    for copy, variant in writers.items():
        stale = {table.name: table for table in wanted if stamp(place, variant, table) != made(place, copy, table)}
        if not stale:
            continue
        place.say(f"writing {copy}: {', '.join(stale)}")
        run_job(making(place, variant, stale.values()))
        for table in stale.values():
            stamp_file(place, copy, table).write_text(stamp(place, variant, table))


def making(place: Place, variant: Variant, tables: Iterable[Table]) -> Job:
    """Return the job that writes these tables."""
    steps: list[Step] = [writing(place, variant, table) for table in tables]
    return {"engine": "spark", "settings": place.settings(variant), "steps": steps}


def writing(place: Place, variant: Variant, table: Table) -> Step:
    """Return the step that writes one table."""
    options = {**variant.write_options(table.encrypted), **table.options}
    target: View = {"format": variant.format, "options": options, "path": place.view(variant, table.name)["path"]}
    step: Step = {
        "name": table.name,
        "views": place.sources,
        "sql": table.sql,
        "sink": {"kind": "write", "write": target},
        "repetitions": 1,
        "check": False,
    }
    if table.files:
        step["sink"] |= {"partitions": table.files, "partition_by": "l_orderkey"}
    return step


def stamp(place: Place, variant: Variant, table: Table) -> str:
    """Return an identifier for how a table is made: the job, and the connector."""
    text = json.dumps(making(place, variant, [table]), sort_keys=True) + connector_digest()
    return hashlib.sha256(text.encode()).hexdigest()


def made(place: Place, copy: str, table: Table) -> str:
    """Return the stamp of the table on disk."""
    file = stamp_file(place, copy, table)
    return file.read_text() if file.is_file() else ""


def stamp_file(place: Place, copy: str, table: Table) -> Path:
    """Return the path of a table's stamp."""
    return place.data / copy / f"{table.name}.stamp"


def sizes(place: Place, tables: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return the bytes of each table's files in each copy."""
    return {
        table: {
            copy.name: sum(file.stat().st_size for file in (copy / table).glob("*.parquet"))
            for copy in sorted(place.data.iterdir())
            if (copy / f"{table}.stamp").is_file()
        }
        for table in tables
    }


def connector_digest() -> str:
    """Return a digest of the connector jar."""
    return hashlib.sha256(Path(pme.jar_path()).read_bytes()).hexdigest()
