"""Damaged and hostile ORC tails: each is a finding, in little memory."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import pme_parquet as pme
from pme_parquet._orc import codecs, tail, wire
from pme_parquet._orc.tail import MAX_FOOTER_BYTES, Parts
from pme_parquet._orc.wire import MalformedError, UnknownError
from tests.orc import made
from tests.orc.tails import LONG, STRUCT, ZLIB, chunk, footer, framed, key, mask, message, type_of, variant, wide
from tests.support import mutated_job, needs
from tests.support.files import mutations
from tests.support.processes import of_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEED = int(os.environ.get("PME_FUZZ_SEED", "1"))
ROUNDS = 10_000 if needs.ALL else 600
MEBIBYTES = 300
SECONDS = 60
OTHER = (
    b'{"keyMaterialType": "PKMT1", "internalStorage": true, "isFooterKey": false, "masterKeyID": "other", '
    b'"doubleWrapping": false, "wrappedDEK": "AAAA"}'
)
STRIPE = message((1, 3), (4, 9), (5, 1))
DAMAGED = {
    "no postscript": (b"ORC" + bytes(20) + b"ORC\x02", "its postscript cannot be 2 bytes long in a file of 27 bytes"),
    "postscript too long": (b"ORC" + bytes(20) + b"ORC\xff", "its postscript cannot be 255 bytes long"),
    "footer too long": (framed(footer(), length=1 << 40), "its footer and statistics cannot be 1099511627776, 0, 0"),
    "no footer": (framed(b""), "its footer and statistics cannot be 0, 0, 0 bytes long"),
    "other magic": (framed(footer(), 0, (8000, b"ORK")), "it has magic twice"),
    "ends early": (framed(footer()[:-1]), "the data ends too early"),
    "field ends early": (framed(footer(more=b"\x7a\x05ab")), "the data ends too early"),
    "group": (framed(footer(more=b"\x0b")), "it is not valid protobuf"),
    "field 0": (framed(footer(more=b"\x02\x00")), "it is not valid protobuf"),
    "long tag": (framed(footer(more=b"\xa2\x80\x80\x80\x10\x00")), "it is not valid protobuf"),
    "long number": (framed(footer(more=b"\x08" + b"\xff" * 11)), "a number has more than 64 bits"),
    "twice": (framed(footer(more=message((6, 0)))), "it has rows twice"),
    "negative": (framed(message(type_of(STRUCT), (6, 1 << 63))), "its rows is a number of more than 63 bits"),
    "cut by ORC": (framed(footer(key(), variant(1 << 32))), "its root is a number of more than 31 bits"),
    "another type": (framed(footer(more=message((9, b"x")))), "its writer is of another type"),
    "no columns": (framed(message((6, 0))), "it has no columns"),
    "no type": (framed(footer(types=((4, b""),))), "column 0 has no type"),
    "leaf with children": (framed(footer(types=(type_of(LONG, [1]), type_of(LONG)))), "column 0 of type bigint has 1"),
    "no names": (framed(footer(types=(type_of(STRUCT, [1]), type_of(LONG)))), "but 0 names of fields"),
    "circle": (framed(footer(types=(type_of(STRUCT, [0], "a"), type_of(LONG)))), "is column 0 instead of 1"),
    "missing child": (framed(footer(types=(type_of(STRUCT, [1], "a"),))), "has a child that does not exist"),
    "orphan": (framed(footer(types=(type_of(LONG), type_of(LONG)))), "column 1 belongs to no other"),
    "deep": (
        framed(footer(types=tuple(type_of(STRUCT, [one + 1], "a") for one in range(200)))),
        "nested more than 100 levels deep",
    ),
    "statistics": (framed(footer(more=message((7, b"")))), "it has 3 columns, but statistics of 1"),
    "rows": (framed(message(type_of(STRUCT), (6, 5))), "it states 5 rows, but its stripes have 0"),
    "stripe": (framed(footer(more=message((3, STRIPE)))), "stripe 0 cannot have 0, 0, 9 bytes from 3 on"),
    "no such key": (framed(footer(variant())), "has key number 0, which does not exist"),
    "no such column": (framed(footer(key(), variant(9))), "is for column 9, which does not exist"),
    "no local key": (framed(footer(key(), variant(encrypted=b""))), "encryption variant 0 has no local key"),
    "long local key": (framed(footer(key(), variant(encrypted=bytes(4097)))), "its encrypted_key has 4097 bytes"),
    "mask of no column": (framed(footer(key(), variant(), mask("nullify", 7))), "is for column 7, which does not"),
    "two masks": (framed(footer(key(), variant(), mask("a", 2), mask("b", 2))), "column 2 has two masks"),
    "many variants": (
        framed(footer(key(), *[variant(root=0)] * 501, types=wide(2000))),
        "its encryption variants have 1002000 columns together",
    ),
    "more variants than columns": (
        framed(footer(key(), *[variant()] * 7)),
        "it has 7 encryption variants for 3 columns",
    ),
    "too many columns": (framed(message(type_of(LONG)) * 50_001), "it has types more than 50000 times"),
    "short chunk": (framed(b"\x05\x00", ZLIB), "the data ends too early"),
    "long chunk": (framed(b"\xff\xff\x00" + bytes(9), ZLIB), "the length of a chunk is 32767 bytes, but 9"),
    "no zlib": (framed(b"\x10\x00\x00" + b"\xff" * 8, ZLIB), "a chunk is not valid zlib data"),
    "block": (framed(chunk(bytes(3000)), ZLIB, (3, 1000)), "a chunk is longer than the block size of the file"),
    "block size": (framed(chunk(footer()), ZLIB, (3, 1 << 24)), "the block size of its compression is 16777216"),
    "bomb": (
        framed(chunk(bytes(1 << 20)) * (MAX_FOOTER_BYTES >> 19), ZLIB, (3, 1 << 20)),
        f"it has more than {MAX_FOOTER_BYTES} bytes decompressed",
    ),
}
UNKNOWN = {
    "type": (framed(footer(types=(type_of(99),))), "column 0 has an unknown type, number 99"),
    "algorithm": (framed(footer(key(algorithm=7), variant())), "unknown encryption algorithm, number 7"),
    "compression": (framed(footer(), 42), "it is compressed by an unknown method, number 42"),
    "brotli": (framed(chunk(footer()), 6), "its footer is compressed with BROTLI"),
}
KEYS = {
    "other master key": (OTHER, "names key 'other', and the file names 'pii@0'"),
    "other length": (bytes(17), "neither key material nor the name of a key"),
    "for another algorithm": (bytes(32), "neither key material nor the name of a key"),
    "a name": (b"the-name-of-a-key", "neither 16 bytes long nor key material"),
}


def findings(path: Path, content: bytes) -> list[tuple[str, str]]:
    path.write_bytes(content)
    return [(one.condition, one.message) for one in pme.inspect(path).findings]


@pytest.mark.rows(12)
@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_tail_is_a_finding(tmp_path: Path, name: str) -> None:
    content, why = DAMAGED[name]
    [(condition, message_)] = findings(tmp_path / "a.orc", content)
    assert condition == "PME_DAMAGED_FILE"
    assert message_.startswith("[PME_DAMAGED_FILE] a.orc: the ORC file is damaged: ")
    assert why in message_


@pytest.mark.rows(4)
@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_named(tmp_path: Path, name: str) -> None:
    content, why = UNKNOWN[name]
    [(condition, message_)] = findings(tmp_path / "a.orc", content)
    assert (condition, why in message_) == ("PME_UNSUPPORTED", True), message_


@pytest.mark.rows(4)
@pytest.mark.parametrize("name", KEYS)
def test_a_local_key_that_cannot_be_used_is_a_finding_and_the_rest_is_shown(tmp_path: Path, name: str) -> None:
    encrypted, why = KEYS[name]
    path = tmp_path / "a.orc"
    [(condition, message_)] = findings(path, framed(footer(key(), variant(encrypted=encrypted))))
    assert (condition, why in message_) == ("PME_KEY_METADATA", True), message_
    [file] = pme.inspect(path).files
    assert [column.encrypted_with for column in file.columns or ()] == [None, "column key"]


def test_a_footer_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    content = framed(footer() + message((99, bytes(MAX_FOOTER_BYTES))))
    [(condition, message_)] = findings(tmp_path / "a.orc", content)
    assert (condition, "reading more than" in message_) == ("PME_UNSUPPORTED", True)


@pytest.mark.parametrize("values", [b"\x1a\x00" * 400, message((1, STRUCT), (2, [1] * 400)), b"\x12\x00" * 400])
def test_a_footer_of_too_many_values_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: bytes
) -> None:
    # So many take seconds to read, as the bomb of `names` below does.
    monkeypatch.setattr(wire, "MAX_VALUES", 2_000)
    [(condition, message_)] = findings(tmp_path / "a.orc", framed(footer(types=((4, values),) * 6)))
    assert (condition, "it has more than 2000 values" in message_) == ("PME_DAMAGED_FILE", True), message_


def test_the_footers_of_all_stripes_have_a_limit_and_name_columns_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = message((1, message((1, 8), (2, 1), (3, 5))))
    parts = Parts(2)
    # Bytes that nobody knows count, too.
    parts.add(stream + message((99, bytes(6400))), [])
    assert (parts.readable_filters, dict(parts.readable_bytes), parts.values > 100) == ({1}, {1: 5}, True)
    with pytest.raises(MalformedError, match="names column 1, which does not exist"):
        Parts(1).add(stream, [])
    monkeypatch.setattr(tail, "_MAX_STRIPE_VALUES", 3)
    [finding] = pme.inspect(next(made.DATA.glob("*.orc"))).findings
    assert (finding.condition, "have more than 3 values together" in finding.message) == ("PME_UNSUPPORTED", True)


def test_a_long_footer_is_read(tmp_path: Path) -> None:
    assert findings(tmp_path / "a.orc", framed(footer() + message((99, bytes(1 << 20))))) == []


@pytest.mark.rows(3)
@pytest.mark.parametrize(("kind", "theirs"), [("SNAPPY", "snappy"), ("LZ4", "lz4_raw"), ("ZSTD", "zstd")])
def test_chunks_decompress_as_pyarrow_compresses(kind: str, theirs: str) -> None:
    rng = Random(SEED)  # noqa: S311 no secret
    decode = codecs.decoder(kind)
    for length in (1, 5, 70, 3000, 200_000):
        content = b"".join(rng.choice((b"abcd", b"xyz", rng.randbytes(3))) for _ in range(length // 3 + 1))[:length]
        stored = pa.Codec(theirs).compress(content, asbytes=True)
        assert decode(stored, length) == content
        with pytest.raises(MalformedError):
            decode(stored, length - 1)


def test_zstd_is_decompressed_by_each_package_and_named_without_any(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"abc" * 1000
    stored = pa.Codec("zstd").compress(content, asbytes=True)
    for decode in (codecs._zstd_of_zstandard(), codecs._zstd_of_pyarrow()):
        assert decode(stored, len(content)) == content
        with pytest.raises(MalformedError):
            decode(stored, len(content) - 1)
        with pytest.raises(MalformedError):
            decode(b"no zstd", 100)
    for package in ("compression.zstd", "zstandard", "pyarrow"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UnknownError, match="ZSTD, which needs"):
        codecs.decoder("ZSTD")


def looked_at(directory: Path, files: Iterator[bytes]) -> mutated_job.Result:
    """Let a process with little memory inspect the files."""
    path = directory / "files.bin"
    with path.open("wb") as out:
        for content in files:
            out.write(struct.pack("<II", len(content), 0) + content)
    job = [sys.executable, str(Path(mutated_job.__file__)), str(path), str(MEBIBYTES), str(SECONDS)]
    done = subprocess.run(job, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return of_json(mutated_job.Result, done.stdout)


def test_mutated_tails(tmp_path: Path) -> None:
    rng = Random(SEED)  # noqa: S311 mutations are no secrets
    # Where the footer is not compressed, a mutation reaches what is in it.
    corpus = [
        path.read_bytes() for path in sorted(made.DATA.glob("*.orc")) for _ in range(4 if path.stem == "none" else 1)
    ]

    def mutated() -> Iterator[bytes]:
        for _ in range(ROUNDS):
            content = rng.choice(corpus)
            cut = rng.choice((0, len(content) // 2, len(content) * 3 // 4, max(0, len(content) - 40)))
            yield content[:cut] + mutations.raw(rng, content[cut:])

    outcome = looked_at(tmp_path, mutated())
    assert outcome.looked == ROUNDS
    assert ROUNDS * 0.2 < outcome.findings < ROUNDS * 0.95


# Footers that try to become large: `make test-all` lets one of them grow further.
MOST, TIMES = 4 << 20, 60 if needs.ALL else 8
BOMBS: dict[str, Callable[[], bytes]] = {
    "types": lambda: message(type_of(STRUCT)) * 60_000,
    "statistics": lambda: footer(more=message((7, b"")) * 60_000),
    "stripes": lambda: footer(more=message((3, b"")) * 60_000),
    "children": lambda: footer(types=((4, message((1, STRUCT), (2, [1] * 60_000))),)),
    "many children": lambda: footer(types=((4, message((1, STRUCT), (2, [1] * 40_000))),) * TIMES),
    "names": lambda: footer(types=((4, b"\x08\x0c" + b"\x1a\x00" * 40_000),) * 60),
    "parameters": lambda: footer((1, b"\x12\x00" * 60_000)),
    "keys": lambda: footer((2, b"\x0a\x01a\x18\x01"), more=b"") + message((10, b"\x12\x00" * 60_000)),
}


def test_footers_that_would_take_much_memory(tmp_path: Path) -> None:
    # In one process, which takes longer to start than most of them take.
    outcome = looked_at(tmp_path, (framed(bomb()) for bomb in BOMBS.values()))
    assert (outcome.looked, outcome.findings) == (len(BOMBS), len(BOMBS))
    assert outcome.mebibytes < MEBIBYTES


def test_many_fields_that_nobody_knows_are_no_finding_and_take_little_memory(tmp_path: Path) -> None:
    outcome = looked_at(tmp_path, iter([framed(footer(more=b"\xf8\x07\x00" * (MOST // 3)))]))
    assert (outcome.looked, outcome.findings) == (1, 0)
    assert outcome.mebibytes < MEBIBYTES
