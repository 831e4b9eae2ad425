"""Hostile content with valid tags ends in a named error or in rows, never in a dead or exhausted JVM.

Only ``reader=pages``: with ``reader=spark`` parquet-java allocates what sizes say, and several of these files end the
JVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.attacks import insiders
from tests.attacks.probe import (
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
from tests.support import needs
from tests.support.files.writers import Kind as FileKind
from tests.support.interop.modes import CTR, GCM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.attacks.conftest import FileOf
    from tests.attacks.insiders import Made
    from tests.attacks.probe import Probe
    from tests.support.files.anatomy import Anatomy

    Maker = Callable[[Anatomy], Iterator[Made]]

pages_only = pytest.mark.parametrize("probe", ["pages"], indirect=True)
KINDS = [
    FileKind("ours", GCM, plain_footer=False),
    FileKind("java", GCM, plain_footer=True),
    FileKind("arrow", CTR, plain_footer=False),
]
of_spark = pytest.mark.parametrize("kind", KINDS[:2], ids=str)


def unexpected(
    probe: Probe, file: Anatomy, kind: FileKind, maker: Maker, query: Query, *allowed: str
) -> dict[str, str]:
    attacks = [attack(made.name, made.content, *allowed, query=query) for made in maker(file)]
    return probe.unexpected(attacks, kind.algorithm)


# Some codecs are not installed. Code of Spark may fail on an index that is not in the dictionary.
HEADERS = (DAMAGED, UNSUPPORTED)
# The rows stay the same if nothing needs the changed field: a physical type that is in the schema, a place that the
# dictionary's place implies, a longer minimum, a page of the same rows.
METADATA = (DAMAGED, NOT_AUTHENTIC, UNSUPPORTED, SAME)
INDEXES = (DAMAGED, NOT_AUTHENTIC, SAME)
CASES: list[tuple[Maker, Query, tuple[str, ...], list[FileKind]]] = [
    # Whole pages of other rows are possible.
    (insiders.page_contents, ALL, (DAMAGED, OTHER, FOREIGN), KINDS),
    (insiders.page_headers, ALL, HEADERS, KINDS),
    (insiders.v2_headers, ALL, HEADERS, KINDS),
    (insiders.dictionaries, ALL, (*HEADERS, FOREIGN), KINDS),
    (insiders.column_metadata, ALL, METADATA, KINDS),
    (insiders.row_groups, ALL, METADATA, KINDS),
    (insiders.schemas, ALL, (DAMAGED, NOT_AUTHENTIC), KINDS),
    (insiders.unread_numbers, ALL, (SAME,), KINDS),
    (insiders.offset_indexes, ONE_ROW, INDEXES, KINDS[:2]),
    (insiders.index_places, FILTERED, INDEXES, KINDS[:2]),
    (insiders.column_indexes, FILTERED, INDEXES, KINDS[:2]),
]
if needs.ALL:
    CASES += [
        (insiders.offset_indexes, FILTERED, INDEXES, KINDS[:2]),
        (insiders.index_places, ONE_ROW, INDEXES, KINDS[:2]),
        (insiders.column_indexes, ONE_ROW, INDEXES, KINDS[:2]),
    ]


@pages_only
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_hostile_content_is_refused_or_not_needed(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    for maker, query, allowed, kinds in CASES:
        if kind in kinds:
            assert unexpected(probe, file_of(kind), kind, maker, query, *allowed) == {}, maker.__name__


@pages_only
@of_spark
def test_a_hostile_bloom_filter_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    query = absent_note(10)
    found = unexpected(probe, file_of(kind), kind, insiders.bloom_filters, query, DAMAGED, NOT_AUTHENTIC)
    # A place of zero means that there is no filter.
    nowhere = {"at negative", "at zero", "at the smallest", "at the smallest long"}
    assert {name: went for name, went in found.items() if not (name in nowhere and went == SAME)} == {}
