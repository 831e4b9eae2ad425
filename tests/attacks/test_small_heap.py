"""A Spark of 512 MiB reads every file that claims to need more, one after the other, and is alive afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import chain
from typing import TYPE_CHECKING

import pytest

from tests.attacks import heap_bombs, insiders, lengths, thrift_bombs
from tests.attacks.probe import (
    ALL,
    DAMAGED,
    EVERY_ATTACK,
    FILTERED,
    FOREIGN,
    OTHER,
    SAME,
    SAMPLE,
    UNSUPPORTED,
    Attack,
    absent_note,
    attack,
)
from tests.support.files.writers import Kind as FileKind
from tests.support.interop.modes import CTR, GCM
from tests.support.session import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tests.attacks.conftest import FileOf
    from tests.attacks.insiders import Made
    from tests.attacks.probe import Query
    from tests.support.files.anatomy import Anatomy

pytestmark = pytest.mark.nightly

ENCRYPTED = FileKind("ours", GCM, plain_footer=False)
READABLE = FileKind("ours", GCM, plain_footer=True)
ARROW = FileKind("arrow", CTR, plain_footer=False)
TIMEOUT_SECONDS = 900
# Other tests read more of the same files, in a session with more memory.
FEWER = 3 * SAMPLE


def attacks_of(made: Iterable[Made], query: Query, *allowed: str) -> Iterator[Attack]:
    for one in made:
        yield attack(one.name, one.content, *allowed, query=query)


def prefixed(prefix: str, attacks: Iterable[Attack]) -> Iterator[Attack]:
    for one in attacks:
        yield one._replace(name=f"{prefix}: {one.name}")


def of_encrypted(file: Anatomy) -> Iterator[Attack]:
    """Return the attacks on a file with an encrypted footer."""
    yield attack("untouched", file.content, SAME)
    yield from prefixed("lengths", lengths.huge_everywhere(file))
    yield from prefixed("footer lengths", lengths.footer_lengths(file))
    yield from prefixed("crypto metadata", thrift_bombs.crypto_metadata(file))
    yield from prefixed("sealed footer", thrift_bombs.sealed_footers(file))
    yield from prefixed("sealed metadata", thrift_bombs.sealed_metadata(file))
    yield from prefixed("sealed header", thrift_bombs.sealed_headers(file))
    yield from prefixed("sealed index", thrift_bombs.sealed_indexes(file))
    yield from prefixed("page header", attacks_of(insiders.page_headers(file), ALL, DAMAGED, UNSUPPORTED))
    yield from prefixed("V2 header", attacks_of(insiders.v2_headers(file), ALL, DAMAGED))
    yield from prefixed("dictionary", attacks_of(insiders.dictionaries(file), ALL, DAMAGED, UNSUPPORTED, FOREIGN))
    yield from prefixed("page", attacks_of(insiders.page_contents(file), ALL, DAMAGED, OTHER, FOREIGN))
    yield from prefixed("index place", attacks_of(insiders.index_places(file), FILTERED, DAMAGED, SAME))
    yield from prefixed("offset index", attacks_of(insiders.offset_indexes(file), FILTERED, DAMAGED, SAME))
    yield from prefixed("Bloom filter", attacks_of(insiders.bloom_filters(file), absent_note(10), DAMAGED, SAME))
    yield from attacks_of(heap_bombs.sealed_footers(file), ALL, DAMAGED)
    # These are whole files, if odd ones. Reading them must not end the JVM.
    yield from attacks_of(heap_bombs.decompression_bombs(file), ALL, DAMAGED, SAME)
    yield attack("untouched, at the end", file.content, SAME)


def of_readable(file: Anatomy) -> Iterator[Attack]:
    """Return the attacks on a file with a readable footer and plaintext columns; most of them need no key."""
    yield from prefixed("readable footer", thrift_bombs.readable_footers(file))
    yield from prefixed("plaintext page header", thrift_bombs.page_headers(file))
    yield from prefixed("plaintext index", thrift_bombs.indexes(file))
    yield from attacks_of(heap_bombs.unsigned_footers(file), ALL, DAMAGED)
    yield attack("untouched, readable", file.content, SAME)


def listed(work: Path, attacks: Iterable[Attack], algorithm: str) -> Iterator[dict[str, object]]:
    """Write the files, and yield the lines of their list."""
    for number, one in enumerate(attacks):
        file = f"{algorithm}-{number}.parquet"
        (work / file).write_bytes(one.content)
        expected = [list(row) for row in one.query.expected]
        yield {"name": one.name, "file": file, "where": one.query.where, "expected": expected, "algorithm": algorithm}


def read_in_a_small_heap(work: Path, attacks: list[Attack], algorithm: str) -> dict[str, str]:
    """Run the job, and return the outcomes up to where it ended."""
    (work / "attacks.json").write_text(json.dumps(list(listed(work, attacks, algorithm))))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    environment.pop("PYSPARK_GATEWAY_PORT", None)
    command = [sys.executable, "-m", "tests.attacks.small_heap_job", str(work)]
    subprocess.run(command, env=environment, capture_output=True, check=False, cwd=ROOT, timeout=TIMEOUT_SECONDS)
    return dict(json.loads(line) for line in (work / "outcomes.jsonl").read_text().splitlines())


def test_a_small_heap_survives_every_hostile_file(file_of: FileOf, tmp_path: Path) -> None:
    attacks = [
        one
        for number, one in enumerate(chain(of_readable(file_of(READABLE)), of_encrypted(file_of(ENCRYPTED))))
        if EVERY_ATTACK or number % FEWER == 0 or " footer of " in one.name or one.name.startswith("untouched")
    ]
    allowed = {one.name: one.allowed for one in attacks}
    assert len(allowed) == len(attacks), "two attacks of one name"
    outcomes = read_in_a_small_heap(tmp_path, attacks, GCM)
    went = {name: outcomes.get(name, "never read") for name in allowed}
    wrong = {name: outcome for name, outcome in went.items() if outcome.partition(": ")[0] not in allowed[name]}
    assert wrong == {}
