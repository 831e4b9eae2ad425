"""Inspects many files out of a single one, in a process with little memory: `mutated_job.py FILES MEBIBYTES SECONDS`.

An exception, more memory than allowed, a look that takes too long or reads more than there is ends it with another exit
code than 0.
"""

from __future__ import annotations

import faulthandler
import json
import resource
import struct
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pme_parquet._inspect.differences import drift, groups, with_intruders
from pme_parquet._inspect.look import look
from pme_parquet._inspect.report import Inspection
from pme_parquet._storage import Found

if TYPE_CHECKING:
    from collections.abc import Iterator

MEBIBYTE = 1024 * 1024
NAME = "a.parquet"
BESIDE = f"_KEY_MATERIAL_FOR_{NAME}.json"


@dataclass(frozen=True)
class Result:
    """How many files were looked at, and how many had findings, with the most memory in MiB."""

    looked: int
    findings: int
    mebibytes: int


class OneFile:
    """A storage of one file and what is beside it. It counts the bytes read."""

    def __init__(self, content: bytes, beside: bytes | None) -> None:
        self.contents = {NAME: content} | ({} if beside is None else {BESIDE: beside})
        self.reads = 0
        self.bytes = 0

    def files(self) -> Iterator[Found]:
        yield Found(NAME, NAME, len(self.contents[NAME]))

    def read(self, path: str, start: int, end: int) -> bytes:
        if path not in self.contents:
            raise FileNotFoundError(path)
        read = self.contents[path][start:end]
        self.reads += 1
        self.bytes += len(read)
        return read


def pairs(path: Path) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield files, each with what is beside it: lengths of four bytes come first, and zero bytes mean no file."""
    with path.open("rb") as file:
        while lengths := file.read(8):
            first, second = struct.unpack("<II", lengths)
            yield file.read(first), file.read(second) or None


def most_memory() -> int:
    """Return the peak memory of this process in MiB; `getrusage` also counts the process that started it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        name, value = line.split(":")
        if name == "VmHWM":
            return int(value.split()[0]) // 1024
    raise AssertionError("VmHWM")


def main(path: Path, mebibytes: int, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (mebibytes * MEBIBYTE, mebibytes * MEBIBYTE))
    looked, with_findings = 0, 0
    for content, beside in pairs(path):
        faulthandler.dump_traceback_later(seconds, exit=True)
        storage = OneFile(content, beside)
        files = with_intruders([look(storage, found) for found in storage.files()])
        report = Inspection(NAME, files, groups(files), drift(files))
        # Findings are also shown, so that showing them is tested.
        assert str(report).replace("\n", " ").isprintable()
        assert json.dumps(report.to_dict()).isprintable()
        assert report._repr_html_()
        assert storage.reads <= 3
        assert storage.bytes <= len(content) + len(beside or b"")
        looked += 1
        with_findings += bool(report.findings)
    # The module `processes` would take memory.
    sys.stdout.write(json.dumps(asdict(Result(looked, with_findings, most_memory()))))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
