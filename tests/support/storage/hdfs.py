"""HDFS from ``with`` to its end, and what is in it, as one of its users sees and changes it.

Its superuser is not the user of the tests, who therefore has no special rights.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, Any

from tests.support import java
from tests.support.session import ROOT
from tests.support.storage import Lake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# It runs on the jars of the Hadoop KMS and a few more.
JARS = ROOT / "target" / "jars" / "hdfs"
SHARED = ROOT / "target" / "jars" / "hadoop-kms"
SUPERUSER = "hdfs"
PATIENCE_SECONDS, SETTLED_SECONDS = 60, 0.02
LOGGING = "log4j.rootLogger=WARN, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"
LOGGING += "log4j.appender.out.target=System.err\nlog4j.appender.out.layout=org.apache.log4j.SimpleLayout\n"
# Arguments of Hadoop's methods.
RECURSIVE = OVERWRITE = ABORT = True

# What does not follow from what clients do: calls of the data node, leases that are kept, answers that clients keep for
# a while, and a question that they repeat until the data node has reported a block.
BY_THEMSELVES = {
    "BlockReceivedAndDeleted",
    "BlockReport",
    "Complete",
    "GetServerDefaults",
    "RegisterDatanode",
    "RenewLease",
    "SendHeartbeat",
    "VersionRequest",
}


class Hdfs:
    """A running HDFS.

    Attributes:
        uri: as clients name it.
        web: its WebHDFS.
        process: the process of its nodes.
    """

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log
        self._lines: Queue[list[str]] = Queue()
        Thread(target=self._listen, daemon=True).start()
        client, web = self._next("ports")
        self.uri = f"hdfs://127.0.0.1:{client}"
        self.web = f"webhdfs://127.0.0.1:{web}"
        self.process = process.pid

    @contextmanager
    def counted(self) -> Iterator[Counter[str]]:
        """Yield what has, after the block, how often clients called each method of the name node in it."""
        before = self._calls()
        found: Counter[str] = Counter()
        yield found
        found.update(self._calls() - before)

    def _calls(self) -> Counter[str]:
        # The name node counts a call after it has answered it.
        last = None
        while last != (last := self._calls_now()):
            sleep(SETTLED_SECONDS)
        return last

    def _calls_now(self) -> Counter[str]:
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        pairs = (one.partition("=") for one in self._next("calls"))
        return Counter({method: int(times) for method, _, times in pairs if method not in BY_THEMSELVES})

    def _next(self, kind: str) -> list[str]:
        """Return the words of the next line of this kind; fail if the server ends before or takes too long."""
        try:
            words = self._lines.get(timeout=PATIENCE_SECONDS)
        except Empty:
            words = []
        assert words[:1] == [kind], self._log.read_text()[-4000:]
        return words[1:]

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith(("ports", "calls")):
                self._lines.put(line.split())
        self._lines.put([])


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
            yield Hdfs(process, folder / "out.log")
        finally:
            process.kill()
            process.wait()


class Files:
    """The files of HDFS. Permissions are changed by its superuser, everything else is done by the user of the tests.

    Attributes:
        client: Hadoop's own, with an instance of its own.
    """

    def __init__(self, spark: SparkSession, hdfs: Hdfs) -> None:
        session: Any = spark
        self._jvm = session._jvm
        self._hdfs = hdfs
        conf = session._jsparkSession.sessionState().newHadoopConf()
        uri = self._jvm.java.net.URI(hdfs.uri)
        self.client: Any = self._jvm.org.apache.hadoop.fs.FileSystem.newInstance(uri, conf)
        self._superuser = self._jvm.org.apache.hadoop.fs.FileSystem.newInstance(uri, conf, SUPERUSER)

    def url(self, name: str) -> str:
        return f"{self._hdfs.uri}/{name}"

    def make(self, name: str) -> None:
        """Make a directory in which everybody may write."""
        self._superuser.mkdirs(self._path(name))
        self.allow(name, 0o777)

    def names(self, name: str) -> set[str]:
        """Return the names of all files below a directory; of none if it does not exist."""
        directory = self._path(name)
        if not self.client.exists(directory):
            return set()
        found = self.client.listFiles(directory, RECURSIVE)
        names = set()
        while found.hasNext():
            names.add(str(found.next().getPath().toUri().getPath()).removeprefix(f"/{name}/"))
        return names

    def around(self, name: str) -> set[str]:
        """Return the names of what is in a directory."""
        return {str(one.getPath().getName()) for one in self.client.listStatus(self._path(name))}

    def read(self, name: str) -> bytes:
        stream = self.client.open(self._path(name))
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def write(self, name: str, content: bytes) -> None:
        stream = self.client.create(self._path(name), OVERWRITE)
        stream.write(content)
        stream.close()

    def put(self, directory: Path, name: str) -> None:
        """Copy a directory of the local disk."""
        self.client.copyFromLocalFile(self._jvm.org.apache.hadoop.fs.Path(str(directory)), self._path(name))

    def allow(self, name: str, bits: int, *, to: str | None = None) -> None:
        """Set the permission bits of a file or directory, and its owner."""
        path = self._path(name)
        self._superuser.setPermission(path, self._jvm.org.apache.hadoop.fs.permission.FsPermission(bits))
        if to:
            self._superuser.setOwner(path, to, to)

    def permissions(self, name: str) -> str:
        """Return the permissions of a file, as `ls` shows them."""
        return str(self.client.getFileStatus(self._path(name)).getPermission().toString())

    def delete(self, name: str) -> None:
        assert self.client.delete(self._path(name), not RECURSIVE)

    def leave_open(self, name: str, content: bytes) -> None:
        """Write a file as a process does that is killed in the middle: it stays open, and keeps its lease."""
        uri, conf = self._jvm.java.net.URI(self._hdfs.uri), self.client.getConf()
        client = self._jvm.org.apache.hadoop.fs.FileSystem.newInstance(uri, conf)
        stream = client.create(self._path(name), not OVERWRITE)
        stream.write(content)
        stream.hflush()
        client.getClient().closeAllFilesBeingWritten(ABORT)

    def is_open(self, name: str) -> bool:
        return not self.client.isFileClosed(self._path(name))

    def recover(self, name: str) -> bool:
        """Take the lease from whoever has it, as HDFS does after a time; return whether the file is closed."""
        return bool(self.client.recoverLease(self._path(name)))

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"/{name}")


@contextmanager
def lake(spark: SparkSession, work: Path) -> Iterator[Lake]:
    """Start HDFS, and yield a directory in it that everybody may write to."""
    with running(work) as hdfs:
        files = Files(spark, hdfs)
        files.make("lake")
        yield Lake(files.url("lake"))
