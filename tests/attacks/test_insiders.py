"""Hostile content with valid tags ends in a named error or in rows, never in a dead or exhausted JVM.

Only ``reader=pages``: with ``reader=spark`` parquet-java allocates what sizes say, and several of these files end the
JVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.files import insiders
from tests.support.files.writers import Kind as FileKind
from tests.support.interop.modes import CTR, GCM
from tests.support.probe import (
    ALL,
    DAMAGED,
    FILTERED,
    FOREIGN,
    NOT_AUTHENTIC,
    ONE_ROW,
    OTHER,
    SAME,
    UNSUPPORTED,
    Query,
    absent_note,
    attack,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.attacks.conftest import FileOf
    from tests.support.files.anatomy import Anatomy
    from tests.support.files.insiders import Made
    from tests.support.probe import Probe

    Maker = Callable[[Anatomy], Iterator[Made]]

pages_only = pytest.mark.parametrize("probe", ["pages"], indirect=True)
KINDS = [
    FileKind("ours", GCM, plain_footer=False),
    FileKind("java", GCM, plain_footer=True),
    FileKind("arrow", CTR, plain_footer=False),
]
three_kinds = pytest.mark.parametrize("kind", KINDS, ids=str)
of_spark = pytest.mark.parametrize("kind", KINDS[:2], ids=str)


def unexpected(
    probe: Probe, file: Anatomy, kind: FileKind, maker: Maker, query: Query, *allowed: str
) -> dict[str, str]:
    attacks = [attack(made.name, made.content, *allowed, query=query) for made in maker(file)]
    return probe.unexpected(attacks, kind.algorithm)


@pages_only
@three_kinds
@pytest.mark.parametrize("maker", [insiders.page_headers, insiders.v2_headers, insiders.dictionaries])
def test_a_hostile_page_header_is_refused(probe: Probe, file_of: FileOf, kind: FileKind, maker: Maker) -> None:
    # Code of Spark that works with the rows may fail on an index that is not in the dictionary.
    foreign = [FOREIGN] if maker is insiders.dictionaries else []
    assert unexpected(probe, file_of(kind), kind, maker, ALL, DAMAGED, UNSUPPORTED, *foreign) == {}


@pages_only
@three_kinds
def test_hostile_content_of_a_page_is_refused_or_read(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    # Whole pages of other rows are possible; and as above.
    assert unexpected(probe, file_of(kind), kind, insiders.page_contents, ALL, DAMAGED, OTHER, FOREIGN) == {}


@pages_only
@three_kinds
@pytest.mark.parametrize("maker", [insiders.column_metadata, insiders.row_groups])
def test_hostile_metadata_are_refused_or_not_needed(
    probe: Probe, file_of: FileOf, kind: FileKind, maker: Maker
) -> None:
    # The rows stay the same if nothing needs the changed field: a physical type that is in the schema, or a place that
    # the dictionary's place implies. Some codecs are not installed.
    allowed = (DAMAGED, NOT_AUTHENTIC, UNSUPPORTED, SAME)
    assert unexpected(probe, file_of(kind), kind, maker, ALL, *allowed) == {}


@pages_only
@three_kinds
def test_a_hostile_schema_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    assert unexpected(probe, file_of(kind), kind, insiders.schemas, ALL, DAMAGED, NOT_AUTHENTIC) == {}


@pages_only
@three_kinds
def test_numbers_that_no_reader_uses_change_nothing(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    assert unexpected(probe, file_of(kind), kind, insiders.unread_numbers, ALL, SAME) == {}


@pages_only
@of_spark
@pytest.mark.parametrize("maker", [insiders.index_places, insiders.offset_indexes, insiders.column_indexes])
def test_a_hostile_page_index_is_refused(probe: Probe, file_of: FileOf, kind: FileKind, maker: Maker) -> None:
    # The rows are the same if nothing needs the changed field to find them: a longer minimum, a page of the same rows.
    file = file_of(kind)
    assert unexpected(probe, file, kind, maker, FILTERED, DAMAGED, NOT_AUTHENTIC, SAME) == {}
    assert unexpected(probe, file, kind, maker, ONE_ROW, DAMAGED, NOT_AUTHENTIC, SAME) == {}


@pages_only
@of_spark
def test_a_hostile_bloom_filter_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    query = absent_note(10)
    found = unexpected(probe, file_of(kind), kind, insiders.bloom_filters, query, DAMAGED, NOT_AUTHENTIC)
    # A place of zero means that there is no filter.
    nowhere = {"at negative", "at zero", "at the smallest", "at the smallest long"}
    assert {name: went for name, went in found.items() if not (name in nowhere and went == SAME)} == {}
