"""Meters of one process: CPU time, bytes read, bytes allocated, peak memory.

The JVM is a child of the Python process that drives it, so its meters are read from outside where Linux shows them, and
through its management beans where it does not.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bench.job import Repetition

# The beans' classes are internal to their modules, and Py4J calls methods through reflection.
JAVA_OPTIONS = (
    "--add-opens=java.management/sun.management=ALL-UNNAMED "
    "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED"
)


class Meter(Protocol):
    """Counters that only grow, and a peak that can be reset."""

    def cpu(self) -> float:
        """CPU seconds of all threads since the process began."""
        ...

    def read(self) -> int:
        """Bytes read from files since the process began."""
        ...

    def allocated(self) -> dict[int, int]:
        """Bytes allocated by each living thread."""
        ...

    def reset_peak(self) -> None:
        """Start measuring a new peak."""
        ...

    def peak(self) -> int:
        """Peak of bytes in use since the last reset."""
        ...


class Reading(NamedTuple):
    """All counters at one moment. The clocks are read last at the beginning and first at the end."""

    read: int
    allocated: dict[int, int]
    cpu: float
    wall: float

    @classmethod
    def before(cls, meter: Meter) -> Reading:
        """Read everything, the clocks last."""
        return cls(meter.read(), meter.allocated(), meter.cpu(), time.perf_counter())

    def until_now(self, meter: Meter) -> Repetition:
        """Return the use since this reading, the clocks first."""
        wall, cpu = time.perf_counter(), meter.cpu()
        read, allocated = meter.read(), meter.allocated()
        # Executor threads outlive a query. Allocations of threads that started and ended in between are not counted.
        grown = sum(now - self.allocated.get(thread, 0) for thread, now in allocated.items())
        return {"wall": wall - self.wall, "cpu": cpu - self.cpu, "read": read - self.read, "allocated": grown}


class JvmMeter:
    """The JVM behind a session."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001  there is no public way to the JVM
        self._jvm = jvm
        factory = jvm.java.lang.management.ManagementFactory
        self._threads = factory.getThreadMXBean()
        self._heap = [pool for pool in factory.getMemoryPoolMXBeans() if pool.getType().name() == "HEAP"]
        self._pid = int(jvm.java.lang.ProcessHandle.current().pid())

    def cpu(self) -> float:
        """CPU seconds of all threads: what clock_getcpuclockid(3) gives, in nanoseconds and not in ticks of 10 ms."""
        return time.clock_gettime(~self._pid << 3 | 2)

    def read(self) -> int:
        """Bytes read from files, sockets aside."""
        return bytes_read(self._pid)

    def allocated(self) -> dict[int, int]:
        """Bytes allocated by each living thread."""
        ids = self._threads.getAllThreadIds()
        return {int(i): max(0, int(n)) for i, n in zip(ids, self._threads.getThreadAllocatedBytes(ids), strict=True)}

    def reset_peak(self) -> None:
        """Collect garbage, and start measuring a new peak."""
        self._jvm.java.lang.System.gc()
        for pool in self._heap:
            pool.resetPeakUsage()

    def peak(self) -> int:
        """Sum of the heap pools' peaks: an upper bound, because pools need not peak together."""
        return sum(int(pool.getPeakUsage().getUsed()) for pool in self._heap)

    def versions(self) -> dict[str, str]:
        """Return the versions of the JVM and of Parquet."""
        system = self._jvm.java.lang.System
        return {
            "jdk": f"{system.getProperty('java.vm.name')} {system.getProperty('java.vm.version')}",
            "parquet-java": str(self._jvm.org.apache.parquet.Version.VERSION_NUMBER),
        }


class OwnMeter:
    """This process, for engines that are Python packages. Its peak is resident memory, and cannot be reset."""

    def cpu(self) -> float:
        """CPU seconds of all threads."""
        return time.process_time()

    def read(self) -> int:
        """Bytes read from files."""
        return bytes_read(os.getpid())

    def allocated(self) -> dict[int, int]:
        """Nothing: native memory is not counted by thread."""
        return {}

    def reset_peak(self) -> None:
        """Do nothing."""

    def peak(self) -> int:
        """Peak of resident memory."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def bytes_read(pid: int) -> int:
    """Return how many bytes a process has read, including those from the page cache."""
    [line] = [line for line in Path(f"/proc/{pid}/io").read_text().splitlines() if line.startswith("rchar:")]
    return int(line.split()[1])
