"""HDFS from ``with`` to its end. Its superuser is not the user of the tests, who therefore has no special rights."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO, TYPE_CHECKING, NamedTuple

from tests.support import java
from tests.support.session import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

# It runs on the jars of the Hadoop KMS and a few more.
JARS = ROOT / "target" / "jars" / "hdfs"
SHARED = ROOT / "target" / "jars" / "hadoop-kms"
SUPERUSER = "hdfs"
START_SECONDS = 60
LOGGING = "log4j.rootLogger=WARN, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"
LOGGING += "log4j.appender.out.target=System.err\nlog4j.appender.out.layout=org.apache.log4j.SimpleLayout\n"


class Hdfs(NamedTuple):
    """A running HDFS.

    Attributes:
        uri: as clients name it.
        web: its WebHDFS.
        process: the process of its nodes.
    """

    uri: str
    web: str
    process: int


@contextmanager
def running(folder: Path) -> Iterator[Hdfs]:
    """Start HDFS, which keeps its files in a folder, and end it."""
    jars = sorted(JARS.glob("*.jar"))
    assert jars, f"{JARS} is empty: run `make build` first"
    classes = folder / "classes"
    java.compile_to(
        classes, Path(__file__).with_name("HdfsServer.java"), against=[*jars, *sorted(SHARED.glob("hadoop-*.jar"))]
    )
    for pages in ("hdfs", "datanode"):
        # Hadoop's distribution has the pages of its servers here, which the artifacts lack.
        (classes / "webapps" / pages).mkdir(parents=True)
    (classes / "log4j.properties").write_text(LOGGING)
    command = [
        str(java.java()),
        *("--add-opens", "java.base/java.lang=ALL-UNNAMED"),
        *("-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *("-cp", f"{classes}:{JARS}/*:{SHARED}/*"),
        "hdfs.HdfsServer",
        str(folder),
    ]
    with (
        (folder / "out.log").open("w") as out,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=out,
            text=True,
            env=os.environ | {"HADOOP_USER_NAME": SUPERUSER},
        ) as process,
    ):
        try:
            client, web = _ports(process.stdout, folder)
            yield Hdfs(f"hdfs://127.0.0.1:{client}", f"webhdfs://127.0.0.1:{web}", process.pid)
        finally:
            process.kill()
            process.wait()


def _ports(output: IO[str] | None, folder: Path) -> tuple[str, str]:
    """Return the ports that the server prints; fail if it ends before or takes too long."""
    assert output is not None
    found: Queue[list[str]] = Queue()

    def look() -> None:
        for line in output:
            if line.startswith("ports "):
                found.put(line.split()[1:])
                return
        found.put([])

    Thread(target=look, daemon=True).start()
    try:
        ports = found.get(timeout=START_SECONDS)
    except Empty:
        ports = []
    assert ports, (folder / "out.log").read_text()[-4000:]
    client, web = ports
    return client, web
