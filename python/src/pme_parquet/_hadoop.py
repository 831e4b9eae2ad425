"""Files as a Spark session reaches them: through the Hadoop client of its driver. No job runs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pme_parquet._storage import Found, is_hidden, not_read, nothing, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


class OfHadoop:
    """A path of a Hadoop file system."""

    def __init__(self, url: str, spark: SparkSession) -> None:
        session: Any = spark
        self._url = shown(url)
        self._path = session._jvm.org.apache.hadoop.fs.Path  # noqa: SLF001 as PySpark does
        self._root = self._path(url)
        with _told(self._url):
            self._files = self._root.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001 as above

    def files(self) -> Iterator[Found]:
        """The files below the path, or the file at it; without hidden ones."""
        return self._found(hidden=False)

    def everything(self) -> Iterator[Found]:
        """The files below the path with hidden ones."""
        return self._found(hidden=True)

    def _found(self, *, hidden: bool) -> Iterator[Found]:
        with _told(self._url):
            status = self._files.getFileStatus(self._root) if self._files.exists(self._root) else None
        if status is None:
            raise nothing(self._url)
        if status.isFile():
            name = str(status.getPath().getName())
            yield Found(str(status.getPath().toString()), name, int(status.getLen()), is_path=True)
            return
        with _told(self._url):
            found = list(self._below(self._root, "", hidden=hidden))
        yield from sorted(found, key=lambda file: file.path)

    def _below(self, directory: Any, prefix: str, *, hidden: bool) -> Iterator[Found]:  # noqa: ANN401 of the JVM
        for status in self._files.listStatus(directory):
            path = status.getPath()
            name = str(path.getName())
            if not hidden and is_hidden(name):
                continue
            if status.isDirectory():
                yield from self._below(path, f"{prefix}{name}/", hidden=hidden)
            else:
                link = bool(status.isSymlink())
                yield Found(str(path.toString()), prefix + name, int(status.getLen()), regular=not link, link=link)

    def read(self, path: str, start: int, end: int) -> bytes:
        """The bytes of a range, or fewer if the file ends earlier."""
        with _in_python():
            stream = self._files.open(self._path(path))
            try:
                stream.seek(start)
                return bytes(stream.readNBytes(end - start))
            finally:
                stream.close()


@contextmanager
def _told(url: str) -> Iterator[None]:
    try:
        with _in_python():
            yield
    except OSError as failed:
        raise not_read(url, failed) from failed


@contextmanager
def _in_python() -> Iterator[None]:
    """Turns an error of the JVM into one of Python, without the stack trace of a name node."""
    try:
        yield
    except Exception as failed:
        cause: Any = getattr(failed, "java_exception", None)
        text = str(failed if cause is None else cause.toString())
        raise OSError((text.splitlines() or [""])[0]) from failed
