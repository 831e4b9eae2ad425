"""PyArrow and DuckDB on plaintext, and on the files of ``uniformKey`` and ``keyManagement=direct``: one known key.

Neither has the key management of parquet-java, which wraps a fresh key for each file, and DuckDB has no column keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

from bench.meter import OwnMeter, Reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.job import Job, Result, Step, StepResult

CORES = 2
KEY = "key"
COLUMNS = "columns"


def run(job: Job) -> Result:
    """Run the steps; if the engine fails, return the reason."""
    drain, version = (
        (by_pyarrow, pa.__version__) if job["engine"] == "pyarrow" else (by_duckdb, str(duckdb.__version__))
    )
    result: Result = {"versions": {job["engine"]: version}, "steps": [], "cannot": None}
    try:
        result["steps"] = [measure(drain, step) for step in job["steps"]]
    except (pa.ArrowException, OSError, duckdb.Error) as error:
        result["cannot"] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    return result


def measure(drain: Callable[[Step], int], step: Step) -> StepResult:
    """Repeat a step."""
    meter = OwnMeter()
    repetitions = []
    count = 0
    for _ in range(step["repetitions"]):
        before = Reading.before(meter)
        count = drain(step)
        repetitions.append(before.until_now(meter))
    rows = {"count": count, "hash": None} if step["check"] else None
    return {"name": step["name"], "repetitions": repetitions, "peak": meter.peak(), "answer": None, "rows": rows}  # type: ignore[typeddict-item]


def by_pyarrow(step: Step) -> int:
    """Decode batch after batch, with as many columns at once as there are cores."""
    pa.set_cpu_count(CORES)
    [view] = step["views"].values()
    columns = view["options"][COLUMNS].split(",")
    count = 0
    key = view["options"].get(KEY)
    for path in sorted(Path(view["path"]).glob("*.parquet")):
        properties = pe.create_decryption_properties(key.encode()) if key else None
        file = pq.ParquetFile(path, decryption_properties=properties)
        count += sum(batch.num_rows for batch in file.iter_batches(columns=columns))
    return count


def by_duckdb(step: Step) -> int:
    """Take every row in Arrow batches, which materialises the columns."""
    [view] = step["views"].values()
    with duckdb.connect(config={"threads": CORES}) as connection:
        key = view["options"].get(KEY)
        if key:
            connection.execute(f"PRAGMA add_parquet_key('k', '{key}')")
        encryption = ", encryption_config = {footer_key: 'k'}" if key else ""
        source = f"read_parquet('{view['path']}/*.parquet'{encryption})"
        found = connection.execute(f"SELECT {view['options'][COLUMNS]} FROM {source}")  # noqa: S608  the names are ours
        reader: Any = found.to_arrow_reader()
        return sum(batch.num_rows for batch in reader)
