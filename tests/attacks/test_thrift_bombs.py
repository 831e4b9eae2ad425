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
    from tests.support.files.anatomy import Anatomy
    from tests.support.files.writers import Kind as FileKind
    from tests.support.probe import Attack, Probe

    Bombs = Callable[[Anatomy], Iterator[Attack]]

ENCRYPTED, READABLE = KINDS[0], KINDS[1]
HAVE_PLAINTEXT_COLUMNS = [READABLE, *(kind for kind in KINDS if kind.writer == "arrow")]

with_plaintext_columns = pytest.mark.parametrize("kind", HAVE_PLAINTEXT_COLUMNS, ids=str)


def test_crypto_metadata_that_are_a_bomb_are_refused(probe: Probe, file_of: FileOf) -> None:
    assert probe.unexpected(crypto_metadata(file_of(ENCRYPTED))) == {}


def test_a_readable_footer_that_is_a_bomb_is_refused(probe: Probe, file_of: FileOf) -> None:
    assert probe.unexpected(readable_footers(file_of(READABLE))) == {}


@with_plaintext_columns
def test_a_page_header_of_a_plaintext_column_that_is_a_bomb_is_refused(
    probe: Probe, file_of: FileOf, kind: FileKind
) -> None:
    assert probe.unexpected(page_headers(file_of(kind)), kind.algorithm) == {}


@pytest.mark.parametrize("kind", [READABLE], ids=str)
def test_a_page_index_of_a_plaintext_column_that_is_a_bomb_is_refused(
    probe: Probe, file_of: FileOf, kind: FileKind
) -> None:
    assert probe.unexpected(indexes(file_of(kind)), kind.algorithm) == {}


@pytest.mark.parametrize("kind", [ENCRYPTED, READABLE], ids=str)
def test_a_sealed_or_signed_footer_that_is_a_bomb_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    assert probe.unexpected(sealed_footers(file_of(kind)), kind.algorithm) == {}


@pytest.mark.parametrize("kind", [ENCRYPTED, READABLE], ids=str)
@pytest.mark.parametrize("made", [sealed_metadata, sealed_headers, sealed_indexes])
def test_a_sealed_structure_of_a_column_that_is_a_bomb_is_refused(
    probe: Probe, file_of: FileOf, kind: FileKind, made: Bombs
) -> None:
    # A holder of the column's key made it.
    assert probe.unexpected(made(file_of(kind)), kind.algorithm) == {}
