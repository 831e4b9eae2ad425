"""What is in HDFS, as one of its users sees and changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.hdfs.server import SUPERUSER

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.hdfs.server import Hdfs

# Arguments of Hadoop's methods.
RECURSIVE = OVERWRITE = ABORT = True


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
