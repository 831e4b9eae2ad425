"""Mutated tails, and tails made to grow: every inspection ends, in little memory, with an answer or a finding.

`PME_TEST_ALL` inspects 10,000 mutated files, and lets the others grow further.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from pme_parquet._inspect.footers import MAX_FOOTER_BYTES
from pme_parquet._inspect.material import MAX_FILE_BYTES
from tests.support import mutated_job, needs
from tests.support.files import mutations, thrift
from tests.support.files.handmade import column, encrypted, entries, framed, material, readable, reference
from tests.support.interop import arrow_files
from tests.support.interop.modes import MODES
from tests.support.interop.samples import arrow_frame
from tests.support.processes import of_json
from tests.support.session import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEED = int(os.environ.get("PME_FUZZ_SEED", "1"))
ROUNDS = 10_000 if needs.ALL else 1_000
MEBIBYTES = 200
# For one file.
SECONDS = 300
MAGIC_BYTES, TAIL_BYTES = 4, 8
ENDS = 64


class Original(NamedTuple):
    """A file to mutate, and what is beside it."""

    content: bytes
    beside: bytes | None


def originals(directory: Path) -> list[Original]:
    """Return files of every kind: Apache's, PyArrow's in every mode, and some made by hand."""
    paths = [path for path in (ROOT / "tests/data/parquet-testing").rglob("*") if ".parquet" in path.name]
    for mode in MODES:
        arrow_files.write(arrow_frame(), directory / f"{mode}.parquet", mode)
    paths += sorted(directory.glob("*.parquet"))
    found = [Original(path.read_bytes(), beside(path)) for path in sorted(paths) if not path.name.startswith("_")]
    by_hand = readable([column(b"a", key=reference("columnKey0")), column(b"b", footer_key=True)], signed=True)
    key = material("k").decode()
    return [*found, Original(by_hand, entries(footerKey=key, columnKey0=key)), Original(encrypted(material("k")), None)]


def beside(path: Path) -> bytes | None:
    """Return the key material beside a file."""
    found = path.with_name(f"_KEY_MATERIAL_FOR_{path.name}.json")
    return found.read_bytes() if found.exists() else None


def mutated(rng: Random, original: Original) -> Original:
    """Return the file with a change in its tail, or in the key material beside it."""
    content, material_beside = original
    if material_beside is not None and rng.random() < 0.3:
        return Original(content, mutations.raw(rng, material_beside))
    length = int.from_bytes(content[-TAIL_BYTES:-MAGIC_BYTES], "little")
    footer = content[-TAIL_BYTES - length : -TAIL_BYTES]
    kind = rng.random()
    if kind < 0.4:  # within the footer, which keeps its frame
        return Original(framed(mutations.raw(rng, footer), content[-MAGIC_BYTES:]), material_beside)
    if kind < 0.8:  # within its structure
        reader = thrift.Reader(footer)
        fields = mutations.bent(rng, reader.struct())
        return Original(
            framed(thrift.write_struct(fields) + footer[reader.at :], content[-MAGIC_BYTES:]), material_beside
        )
    start = max(0, len(content) - length - ENDS)
    return Original(content[:start] + mutations.raw(rng, content[start:]), material_beside)


def looked_at(directory: Path, files: Iterator[Original]) -> mutated_job.Result:
    """Let a process with little memory inspect the files."""
    path = directory / "files.bin"
    with path.open("wb") as out:
        for content, material_beside in files:
            out.write(
                struct.pack("<II", len(content), len(material_beside or b"")) + content + (material_beside or b"")
            )
    arguments = [str(path), str(MEBIBYTES), str(SECONDS)]
    job = [sys.executable, str(Path(mutated_job.__file__)), *arguments]
    done = subprocess.run(job, capture_output=True, text=True, check=False)
    path.unlink()
    assert done.returncode == 0, done.stderr[-4000:]
    return of_json(mutated_job.Result, done.stdout)


def test_mutated_tails(tmp_path: Path) -> None:
    rng = Random(SEED)  # noqa: S311 mutations are no secrets
    corpus = originals(tmp_path)
    outcome = looked_at(tmp_path, (mutated(rng, rng.choice(corpus)) for _ in range(ROUNDS)))
    assert outcome.looked == ROUNDS
    # Not every file is refused before any of it is read, and not every file passes as undamaged.
    assert ROUNDS * 0.3 < outcome.findings < ROUNDS * 0.95
    assert outcome.mebibytes < MEBIBYTES


# Time and memory grow with the length.
BIGGEST = MAX_FOOTER_BYTES // (4 if needs.ALL else 256)
LIST_OF = {"bool": b"\x01", "byte": b"\x03", "string": b"\x08", "list": b"\x09", "map": b"\x0b", "struct": b"\x0c"}


def long_list(number: int, element: int, content: bytes, count: int) -> bytes:
    """Return a footer whose first field is a list of this many elements."""
    return bytes([number << 4 | 9, 0xF0 | element]) + thrift.varint(count) + content


def bombs(most: int) -> dict[str, bytes]:
    """Return footers of this length that try to become large, slow or deep."""
    rows = thrift.write_struct([thrift.Field(3, thrift.I64, 1)])[:-1]
    elements = most - 100
    columns = min(60_000, most)
    one = thrift.write_struct(column(b"00000"))
    small = b"".join(one.replace(b"00000", b"%05x" % n) for n in range(columns))[: most - 100]
    return {
        **{
            f"skipped {name}": long_list(15, kind[0], bytes(elements) if name != "bool" else b"\1" * elements, elements)
            for name, kind in LIST_OF.items()
        },
        "row groups": rows + long_list(1, 12, bytes(elements), elements),
        "columns": rows + b"\x19\x1c" + long_list(1, 12, small, 60_000),
        "path": rows + b"\x19\x1c\x19\x1c\x3c" + long_list(3, 8, bytes(elements), elements),
        "count": rows + long_list(1, 12, b"", 2**31 - 1),
        "long count": rows + long_list(1, 12, b"", 2**63 - 1),
        "string": rows + b"\x38" + thrift.varint(2**31 - 1) + bytes(elements),
        "deep structs": b"\x1c" * most,
        "deep lists": b"\x19" * most,
        "deep maps": b"\x1b\x01\xbb" * (most // 3),
        "varint": b"\xff" * most,
        "fields": b"\x36\x01" * (most // 2),
    }


def test_footers_that_would_take_much_memory(tmp_path: Path) -> None:
    # In one process, which takes longer to start than most of them take.
    files = [Original(framed(footer[:BIGGEST], b"PAR1"), None) for footer in bombs(BIGGEST).values()]
    outcome = looked_at(tmp_path, iter(files))
    assert outcome.looked == outcome.findings == len(files)
    # One tiny file takes 18.
    assert outcome.mebibytes < (MEBIBYTES if needs.ALL else 40)


# Made when they are used: these texts are long, and every process collects this test.
LONG_MATERIAL: list[Callable[[], bytes]] = [
    lambda: b"{" + b",".join(b'"%x":""' % n for n in range(400_000))[: MAX_FILE_BYTES - 2] + b"}",
    lambda: b'{"footerKey":' + b"[" * (MAX_FILE_BYTES - 20),
    lambda: b'{"footerKey":' + b"1" * (MAX_FILE_BYTES - 20) + b"}",
    lambda: b'{"footerKey":"' + b"\\u0041" * ((MAX_FILE_BYTES - 20) // 6) + b'"}',
    lambda: b'{"a":{' + b",".join(b'"%x":{}' % n for n in range(350_000))[: MAX_FILE_BYTES - 20] + b"}}",
]


def test_key_material_that_would_take_much_memory(tmp_path: Path) -> None:
    contents = [content() for content in LONG_MATERIAL[: None if needs.ALL else 3]]
    assert max(map(len, contents)) <= MAX_FILE_BYTES
    outcome = looked_at(tmp_path, (Original(encrypted(reference("footerKey")), content) for content in contents))
    assert outcome.looked == outcome.findings == len(contents)
    assert outcome.mebibytes < MEBIBYTES
