"""Where files are: the local file system, or any that fsspec has a package for. It only lists files and reads ranges.

The local file system needs no fsspec: importing fsspec takes half of the time that the command needs to start.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from pme_parquet._display.words import printable
from pme_parquet.errors import BadOptionError, PmeError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# Schemes of Hadoop that fsspec, without the package for them, knows only under another name.
_SCHEMES = {"s3a": "s3", "s3n": "s3", "abfss": "abfs"}
# `hdfs:/path`, `s3://bucket/path`, or fsspec's `zip://path::...`; a drive's letter is no scheme.
_URL = re.compile(r"([A-Za-z][\w+.-]+):/(?!/)|([A-Za-z][\w+.-]+)://|[a-z0-9+]+::")
# How a file of checksums begins.
_CHECKSUMS = b"crc\x00"


@dataclass(frozen=True, slots=True)
class Found:
    """A file.

    Attributes:
        path: its full path.
        shown: the part below the listed path.
        bytes: its size.
        regular: whether it is a regular file.
        is_path: whether it is what the listed path names.
        link: whether it is a symbolic link, which nothing follows: it may lead out of the table.
    """

    path: str
    shown: str
    bytes: int
    regular: bool = True
    is_path: bool = False
    link: bool = False

    @property
    def slashed(self) -> str:
        """The same part of its path, with slashes."""
        return self.shown.replace("\\", "/")

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.shown.replace(os.sep, "/").rsplit("/", 1)[-1]


class Storage(Protocol):
    """What looking at files needs."""

    def files(self) -> Iterator[Found]:
        """The files below the path, or the file at it; without hidden ones. Links are irregular files."""

    def read(self, path: str, start: int, end: int) -> bytes:
        """The bytes of a range, or fewer if the file ends earlier."""


class WholeStorage(Storage, Protocol):
    """What looking at all files needs."""

    def everything(self) -> Iterator[Found]:
        """The files below the path with hidden ones, and as irregular files links and what cannot be listed."""


class UnreadableError(Exception):
    """A file is not what it must be here. The message says why, and repeats nothing of it."""


def strict_json(text: str | bytes) -> Any:  # noqa: ANN401 of JSON
    """The value of a JSON text from a file. It is in memory as a whole, so bound its length before.

    Raises:
        UnreadableError: it is not JSON, too deep, or has a field twice: readers differ in which one they take.
    """
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):  # also of UTF-8, and of numbers with thousands of digits
        raise UnreadableError("it is not valid JSON") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def is_hidden(name: str) -> bool:
    """Whether Spark ignores a file or directory of this name."""
    return (name.startswith("_") and "=" not in name) or name.startswith(".") or name.endswith("._COPYING_")


def is_checksums(storage: Storage, found: Found) -> bool:
    """Whether it is what Hadoop's local file system writes for each file: CRC32 of 512 bytes each."""
    if not (found.name.startswith(".") and found.name.endswith(".crc")):
        return False
    return storage.read(found.path, 0, len(_CHECKSUMS)) == _CHECKSUMS


class Through(dict[str, Any]):
    """Stands for the options of fsspec where something else opens the storage.

    Attributes:
        opens: returns the storage of a URL.
    """

    def __init__(self, opens: Callable[[str], WholeStorage]) -> None:
        super().__init__()
        self.opens = opens


def storage(path: str, options: Mapping[str, Any] | None) -> WholeStorage:
    """The storage of a path or URL."""
    if isinstance(options, Through):
        return options.opens(path)
    match = _URL.match(path)
    if match is None:
        return _Local(path)
    local = local_root(path)
    if local is not None and not options:
        return _Local(local)
    return _Remote(_url(path, match), options or {})


def local_root(path: str) -> str | None:
    """The local path of a path or URL; None if it is not local."""
    match = _URL.match(path)
    if match is None:
        return path
    return _local_path(path) if (match[1] or match[2]) == "file" else None


def scheme_of(path: str) -> str | None:
    """The scheme of a URL; None for a path, and for a chain of fsspec."""
    match = _URL.match(path)
    return (match[1] or match[2]) if match else None


def _local_path(url: str) -> str:
    rest = url.removeprefix("file:")
    return rest.removeprefix("//") if rest.startswith("///") else rest


def _url(path: str, match: re.Match[str]) -> str:
    """The URL as fsspec writes it: `s3a://` is its `s3://`, and Hadoop's `hdfs:/path` its `hdfs:///path`."""
    scheme = match[1] or match[2]
    if scheme is None:
        return path
    slashes = "///" if match[1] else "//"
    return f"{_SCHEMES.get(scheme, scheme)}:{slashes}{path[match.end() :]}"


class _Local:
    def __init__(self, root: str) -> None:
        self._root = os.path.expanduser(root)  # noqa: PTH111 paths stay texts
        if not os.path.lexists(self._root):
            raise nothing(root)

    def files(self) -> Iterator[Found]:
        if not os.path.isdir(self._root):  # noqa: PTH112 as above
            yield replace(_local_file(self._root, os.path.basename(self._root)), is_path=True)  # noqa: PTH119 as above
            return
        yield from self._walk(hidden=False, onerror=_raise)

    def everything(self) -> Iterator[Found]:
        failed: list[Found] = []

        def unlisted(error: OSError) -> None:
            path = str(error.filename)
            failed.append(Found(path, os.path.relpath(path, self._root), 0, regular=False))

        yield from self._walk(hidden=True, onerror=unlisted)
        yield from failed

    def _walk(self, *, hidden: bool, onerror: Callable[[OSError], None]) -> Iterator[Found]:
        for directory, directories, names in os.walk(self._root, onerror=onerror):
            directories[:] = sorted(name for name in directories if hidden or not is_hidden(name))
            links = [name for name in directories if os.path.islink(os.path.join(directory, name))]  # noqa: PTH114, PTH118 as above
            for name in sorted([*names, *links]):
                if hidden or not is_hidden(name):
                    path = os.path.join(directory, name)  # noqa: PTH118 as above
                    yield _unfollowed(path, os.path.relpath(path, self._root))

    def read(self, path: str, start: int, end: int) -> bytes:
        # A FIFO would let this wait for a writer that never comes, a device could do anything, a link lead anywhere.
        follow = 0 if path == self._root else getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(path, os.O_RDONLY | follow | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file", path)
            file.seek(start)
            return file.read(end - start)


def _local_file(path: str, shown: str) -> Found:
    try:
        status = os.stat(path)  # noqa: PTH116 as above
    except OSError:  # a link to nowhere
        return Found(path, shown, 0, regular=False)
    return Found(path, shown, status.st_size, regular=stat.S_ISREG(status.st_mode))


def _unfollowed(path: str, shown: str) -> Found:
    try:
        status = os.lstat(path)
    except OSError:  # deleted since it was listed
        return Found(path, shown, 0, regular=False)
    link = stat.S_ISLNK(status.st_mode)
    return Found(path, shown, status.st_size, regular=stat.S_ISREG(status.st_mode), link=link)


def _raise(error: OSError) -> None:
    raise error


class _Remote:
    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        from fsspec.core import url_to_fs  # noqa: PLC0415 slow to import

        self._url = shown(url)
        try:
            self._files, self._root = url_to_fs(url, **options)
            # fsspec keeps instances, and some keep listings as long as they live.
            self._files.invalidate_cache()
        except ImportError as missing:
            raise no_package(self._url, _package(url, missing)) from missing
        except Exception as failed:
            if url.startswith("hdfs:") and "Unable to load" in str(failed):
                raise no_hadoop(self._url, str(failed)) from failed
            raise not_read(self._url, failed) from failed

    def files(self) -> Iterator[Found]:
        return self._found(hidden=False)

    def everything(self) -> Iterator[Found]:
        return self._found(hidden=True)

    def _found(self, *, hidden: bool) -> Iterator[Found]:
        try:
            yield from self._listed(hidden=hidden)
        except FileNotFoundError:
            raise nothing(self._url) from None
        except Exception as failed:
            raise not_read(self._url, failed) from failed

    def _listed(self, *, hidden: bool) -> Iterator[Found]:
        info = self._files.info(self._root)
        if info["type"] == "file":
            yield Found(self._root, self._root.rsplit("/", 1)[-1], info["size"], is_path=True)
            return
        root = self._root.rstrip("/") + "/"
        for path, found in sorted(self._files.find(self._root, detail=True).items()):
            below = path.removeprefix(root)
            # Object stores represent directories by objects whose names end like this.
            if not path.endswith("/") and (hidden or not any(is_hidden(name) for name in below.split("/"))):
                link = bool(found.get("islink"))
                regular = found["type"] == "file" and not link
                yield Found(path, below, found["size"] or 0, regular=regular, link=link)

    def read(self, path: str, start: int, end: int) -> bytes:
        content: bytes = self._files.cat_file(path, start=start, end=end)
        return content


def shown(url: str) -> str:
    """A URL without the password or the signature that it may contain."""
    without = re.sub(r"://[^/@]*:[^/@]*@", "://", url)
    return without.split("?", 1)[0] if without.startswith("http") else without


def _package(url: str, missing: ImportError) -> str:
    """The missing package: that of the file system, or one that its own code imports."""
    from fsspec.registry import known_implementations  # noqa: PLC0415 as above

    known = known_implementations.get(url.split(":", 1)[0], {"class": "fsspec"})
    package: str = known["class"]
    if package.startswith("fsspec"):
        package = getattr(missing.__cause__ or missing, "name", None) or str(missing)
    return package.split(".", 1)[0]


def not_read(file: str, failed: Exception) -> PmeError:
    """The storage failed; each storage has errors of its own."""
    first_line = (str(failed).splitlines() or [""])[0]
    return PmeError(
        f"{file}: it cannot be read: the storage failed with {type(failed).__name__}: {printable(first_line)}. Check "
        "the path and the settings of its file system."
    )


def nothing(path: str) -> PmeError:
    """There is no file and no directory."""
    return BadOptionError(f"{path}: there is nothing at this path. Check the path.")


def no_hadoop(path: str, why: str) -> PmeError:
    """Python's package for HDFS does not find Hadoop's native client."""
    return UnsupportedError(
        f"{path}: this needs Hadoop's native client, and pyarrow does not find it: {printable(why)}. Pass spark=…, "
        "whose own client reads HDFS, or a URL of WebHDFS (webhdfs://HOST:PORT/…)."
    )


def no_package(path: str, package: str) -> PmeError:
    """The package of a file system is missing."""
    return UnsupportedError(f"{path}: this needs the package {package}, which is not installed. pip install {package}.")
