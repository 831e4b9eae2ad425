"""Files that share their data keys, as ``keyManagement=direct`` makes them: modules still belong to one file only."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

import pytest

import pme_parquet as pme
from tests.attacks.probe import DAMAGED, NOT_AUTHENTIC, OTHER, Attack, attack
from tests.attacks.queries import query_for
from tests.support.files import forge
from tests.support.files.anatomy import Anatomy, Kind
from tests.support.files.writers import KINDS, our_options, written
from tests.support.files.writers import Kind as FileKind
from tests.support.interop.arrow_files import master_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.attacks.probe import Probe

OURS = [kind for kind in KINDS if kind.writer == "ours"]
our_kinds = pytest.mark.parametrize("kind", OURS, ids=str)


class Twins(NamedTuple):
    """Two files of one table, laid out alike and under the same data keys, and how to read them."""

    file: Anatomy
    other: Anatomy
    options: dict[str, str]


def named_key(metadata: bytes) -> bytes:
    """Return the key that key metadata names."""
    return master_key(metadata.decode())


@pytest.fixture(scope="module")
def twins(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[FileKind, Twins]:
    root = tmp_path_factory.mktemp("twins")
    names = ("footer", "pii", "pay")
    (root / "keys").write_text("".join(f"{name}={base64.b64encode(master_key(name)).decode()}\n" for name in names))
    kms = pme.Static(pme.file(root / "keys")).options() | {"keyManagement": "direct"}

    def of(kind: FileKind, version: int) -> Anatomy:
        options = our_options(kind) | kms
        return Anatomy(written(spark, kind, root / f"{kind}-{version}", version, options), named_key)

    return {kind: Twins(of(kind, 1), of(kind, 2), kms) for kind in OURS}


def moves(pair: Twins) -> Iterator[Attack]:
    """Put modules of one file into the same place of the other: one of each kind and column."""
    seen: set[tuple[Kind, int]] = set()
    for one, other in zip(pair.file.modules, pair.other.modules, strict=True):
        if one.size == other.size and (one.kind, one.column) not in seen:
            seen.add((one.kind, one.column))
            content = forge.put(pair.file.content, one.offset, pair.other.bytes_of(other))
            # CTR does not bind a page to its file. Only these columns have other values in the other file.
            changed = pair.file.chunks[one.column].name in ("salary", "twin")
            if not one.seal.ctr:
                yield attack(str(one), content, NOT_AUTHENTIC, query=query_for(pair.file, one), options=pair.options)
            elif changed:
                yield attack(str(one), content, OTHER, options=pair.options)


@our_kinds
def test_a_module_of_another_file_under_the_same_keys_does_not_open(
    probe: Probe, twins: dict[FileKind, Twins], kind: FileKind
) -> None:
    assert probe.unexpected(moves(twins[kind]), kind.algorithm) == {}


@our_kinds
def test_a_footer_of_another_file_under_the_same_keys_does_not_open_the_pages(
    probe: Probe, twins: dict[FileKind, Twins], kind: FileKind
) -> None:
    file, other, options = twins[kind]
    data = file.content[: file.footer_at].ljust(other.footer_at, b"\0")[: other.footer_at]
    moved = attack("footer", data + other.content[other.footer_at :], NOT_AUTHENTIC, DAMAGED, options=options)
    assert probe.unexpected([moved], kind.algorithm) == {}
