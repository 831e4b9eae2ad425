"""Thrift that would take all memory or the whole stack, where anyone can write it: refused before it is parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.attacks.thrift_bombs import (
    crypto_metadata,
    indexes,
    page_headers,
    readable_footers,
    sealed_footers,
    sealed_headers,
    sealed_indexes,
    sealed_metadata,
)
from tests.support.files.writers import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.attacks.conftest import FileOf
    from tests.attacks.probe import Attack, Probe
    from tests.support.files.anatomy import Anatomy
    from tests.support.files.writers import Kind as FileKind

    Bombs = Callable[[Anatomy], Iterator[Attack]]

ENCRYPTED, READABLE = KINDS[0], KINDS[1]
ARROW = [kind for kind in KINDS if kind.writer == "arrow"]
PLACES: list[tuple[Bombs, FileKind]] = [
    (crypto_metadata, ENCRYPTED),
    (page_headers, READABLE),
    *((page_headers, kind) for kind in ARROW),
    (readable_footers, READABLE),
    (indexes, READABLE),
    # A holder of the footer's key, or of a column's, made these.
    *((made, kind) for made in (sealed_footers, sealed_metadata, sealed_headers, sealed_indexes) for kind in KINDS[:2]),
]


@pytest.mark.rows(2)
@pytest.mark.parametrize("kind", [ENCRYPTED, READABLE, *ARROW], ids=str)
def test_a_bomb_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    for made, of in PLACES:
        if of == kind:
            assert probe.unexpected(made(file_of(kind)), kind.algorithm) == {}, made.__name__
