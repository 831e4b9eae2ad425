"""A job on a cluster of one executor. It searches the executor's and the driver's heaps for keys that have expired.

Run as ``python -m tests.leaks.heap_job DIRECTORY``; it writes the result to ``found.json`` there.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.expect import save
from tests.support.files.key_material import data_keys
from tests.support.kms.access import read, rows
from tests.support.kms.cluster_places import STATIC, Places
from tests.support.kms.counting import ROWS_PER_FILE, encryption, frame
from tests.support.session import builder, session_settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

COLUMNS, FILES = 3, 2
LIFETIME = "parquet.encryption.cache.lifetime.seconds"
KEPT = "kept"
# How the job reads each of these tables.
GONE = {"v1-pages": {}, "v2-pages": {"scan": "v2"}, "v1-spark": {"reader": "spark"}}
WRITTEN = "written"
MASTERS = "masters"
# The next sweep, at most ten seconds later, removes expired keys.
PATIENCE = 90
PAUSE = 2


def session(places: Places) -> SparkSession:
    settings = session_settings(places.work) | {
        "spark.executor.memory": "512m",
        "spark.driver.memory": "512m",
    }
    return builder(settings, "local-cluster[1,1,512]").getOrCreate()


def tool(name: str) -> str:
    """Return the path of a tool of the JDK that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = Path(home) / "bin" / "java" if home else Path(shutil.which("java") or "java")
    return str(java.resolve().with_name(name))


def found_in_heap(process: str, dump: Path, secrets: Iterable[bytes]) -> set[bytes]:
    """Return which of the secrets are in live objects of a process's heap."""
    subprocess.run([tool("jcmd"), process, "GC.heap_dump", str(dump)], check=True, capture_output=True)
    with dump.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = {secret for secret in secrets if content.find(secret) >= 0}
    dump.unlink()
    return found


def look(places: Places, processes: dict[str, str], keys: dict[str, set[bytes]]) -> dict[str, dict[str, int]]:
    """Return how many keys of each table are in the heap of each process."""
    found = {}
    for name, process in processes.items():
        secrets = found_in_heap(process, places.work / f"{name}.hprof", set().union(*keys.values()))
        found[name] = {table: len(some & secrets) for table, some in keys.items()}
    return found


def main(work: Path) -> None:
    """Read each table, write one, and search until no expired key is left."""
    places = Places(work)
    spark = session(places)
    try:
        kms = places.static().options()
        lifetimes = {KEPT: "600"} | dict.fromkeys(GONE, "1")
        for name, lifetime in lifetimes.items():
            options = kms | {LIFETIME: lifetime} | GONE.get(name, {})
            content = read(spark, str(places.data / name), options)
            assert len(rows(content)) == FILES * ROWS_PER_FILE
        protected = encryption(COLUMNS) | {"keyMaterial": "external"}
        save(frame(spark, COLUMNS, FILES), str(places.data / WRITTEN), kms | protected)
        keys = {name: data_keys(places.data / name, STATIC) for name in (*lifetimes, WRITTEN)}
        keys[MASTERS] = set(STATIC.values())
        [executor] = places.processes(str(spark.sparkContext.applicationId))
        jvm: Any = spark._jvm
        driver = str(jvm.java.lang.ProcessHandle.current().pid())
        processes = {"executor": executor.name, "driver": driver}
        deadline = time.monotonic() + PATIENCE
        while True:
            found = look(places, processes, keys)
            left = sum(some[name] for some in found.values() for name in (*GONE, WRITTEN))
            if left == 0 or time.monotonic() > deadline:
                break
            time.sleep(PAUSE)
        (work / "found.json").write_text(json.dumps(found))
    finally:
        spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
