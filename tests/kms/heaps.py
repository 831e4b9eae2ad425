"""Searches the heaps of a cluster's processes for keys that have expired: steps of a job on the cluster."""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.kms.access import read, rows
from tests.support.expect import save
from tests.support.files.key_material import data_keys
from tests.support.kms.cluster_places import STATIC, Heaps
from tests.support.kms.counting import ROWS_PER_FILE, encryption, frame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from tests.support.kms.cluster_places import Places

COLUMNS, FILES = 3, 2
LIFETIME = "parquet.encryption.cache.lifetime.seconds"
KEPT = "kept"
# How the job reads each of these tables.
GONE = {"v1-pages": {}, "v2-pages": {"scan": "v2"}, "v1-spark": {"reader": "spark"}}
WRITTEN = "written"
MASTERS = "masters"
# The next sweep, at most ten seconds later, removes expired keys. A look before it would find them.
SWEEP = 11
PATIENCE = 90
PAUSE = 2


@dataclass(frozen=True)
class HeapSearch:
    """A search on a cluster, whose tables are in a directory of their own."""

    spark: SparkSession
    places: Places

    @property
    def data(self) -> Path:
        return self.places.data / "heap"

    def use_keys(self) -> None:
        """Write each table, and read one whose keys are kept, and others whose keys expire at once."""
        kms = self.places.static().options()
        protected = encryption(COLUMNS) | {"keyMaterial": "external"}
        for name in (KEPT, *GONE, WRITTEN):
            save(frame(self.spark, COLUMNS, FILES), str(self.data / name), kms | protected)
        lifetimes = {KEPT: "600"} | dict.fromkeys(GONE, "1")
        for name, lifetime in lifetimes.items():
            options = kms | {LIFETIME: lifetime} | GONE.get(name, {})
            content = read(self.spark, str(self.data / name), options)
            assert len(rows(content)) == FILES * ROWS_PER_FILE

    def found(self) -> Heaps:
        """Search until no expired key is left, or patience ends."""
        keys = {name: data_keys(self.data / name, STATIC) for name in (KEPT, *GONE, WRITTEN)}
        keys[MASTERS] = set(STATIC.values())
        application = str(self.spark.sparkContext.applicationId)
        executors = [process.name for process in self.places.processes(application)]
        jvm: Any = self.spark._jvm
        driver = str(jvm.java.lang.ProcessHandle.current().pid())
        deadline = time.monotonic() + PATIENCE
        time.sleep(SWEEP)
        while True:
            found = Heaps(self._look([driver], keys), self._look(executors, keys))
            left = sum(some[name] for some in (found.driver, found.executors) for name in (*GONE, WRITTEN))
            if left == 0 or time.monotonic() > deadline:
                return found
            time.sleep(PAUSE)

    def _look(self, processes: list[str], keys: dict[str, set[bytes]]) -> dict[str, int]:
        """Return how many keys of each table are in the heaps of some processes."""
        every = set().union(*keys.values())
        secrets = set().union(*(_in_heap(one, self.places.work / f"{one}.hprof", every) for one in processes))
        return {table: len(some & secrets) for table, some in keys.items()}


def _in_heap(process: str, dump: Path, secrets: Iterable[bytes]) -> set[bytes]:
    """Return which of the secrets are in live objects of a process's heap."""
    subprocess.run([_tool("jcmd"), process, "GC.heap_dump", str(dump)], check=True, capture_output=True)
    with dump.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = {secret for secret in secrets if content.find(secret) >= 0}
    dump.unlink()
    return found


def _tool(name: str) -> str:
    """Return the path of a tool of the JDK that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = Path(home) / "bin" / "java" if home else Path(shutil.which("java") or "java")
    return str(java.resolve().with_name(name))
