"""A flipped bit in any part of any module is detected; where the algorithm cannot detect it, the test says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.attacks.conftest import every_kind
from tests.attacks.probe import DAMAGED, NOISE, NOT_AUTHENTIC, OTHER, SAME, attack
from tests.attacks.queries import query_for
from tests.support.files import forge
from tests.support.files.anatomy import (
    BLOOMS,
    CIPHERTEXT,
    INDEXES,
    LENGTH,
    NO_PAGE,
    NONCE,
    REGIONS,
    TAG,
    Anatomy,
    Kind,
    Module,
    place,
)
from tests.support.files.bend import MAGIC_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.attacks.conftest import FileOf
    from tests.attacks.probe import Attack, Probe
    from tests.support.files.writers import Kind as FileKind


def regions(number: int, module: Module, seen: set[Kind]) -> list[str]:
    """Return all parts for the first module of a kind, and one part each, in turn, for the others."""
    parts = [region for region in REGIONS if region != TAG or not module.seal.ctr]
    if module.kind not in seen:
        seen.add(module.kind)
        return parts
    return [parts[number % len(parts)]]


def expected(module: Module, region: str) -> tuple[str, ...]:
    if region == LENGTH:
        return (DAMAGED, NOT_AUTHENTIC)
    if not module.seal.ctr:
        return (NOT_AUTHENTIC,)
    # CTR does not authenticate a page: with another nonce it is noise, with another byte another value.
    return NOISE if region == NONCE or module.kind == Kind.DICTIONARY_PAGE else (OTHER,)


def flips(file: Anatomy) -> Iterator[Attack]:
    seen: set[Kind] = set()
    for number, module in enumerate(file.modules):
        for region in regions(number, module, seen):
            content, allowed = forge.flip(file.content, place(module, region)), expected(module, region)
            yield attack(f"{region} of {module}", content, *allowed, query=query_for(file, module))


def metadata_flips(file: Anatomy) -> Iterator[Attack]:
    """Flip bits in the metadata of columns and seal or sign the footer again: its key is not the column's."""
    for name in ("name", "salary"):
        chunk = file.named(name)
        sealed = forge.sealed_metadata(chunk.fields)
        module = Module(Kind.COLUMN_METADATA, chunk.row_group, chunk.column, NO_PAGE, 0, len(sealed), file.footer_seal)
        for region in REGIONS:
            content = forge.with_sealed_metadata(file, chunk, forge.flip(sealed, place(module, region)))
            yield attack(f"{region} of {name}", content, DAMAGED if region == LENGTH else NOT_AUTHENTIC)


def unread(reader: str, file: Anatomy) -> Iterator[Attack]:
    # For Spark's own reader every index and filter is checked first, because nobody knows which ones it will use.
    allowed = NOT_AUTHENTIC if reader == "spark" else SAME
    for at in range(MAGIC_BYTES):
        yield attack(f"byte {at} of the file", forge.flip(file.content, at), SAME)
    seen: set[Kind] = set()
    for module in file.modules:
        if module.kind in (*INDEXES, *BLOOMS) and module.kind not in seen:
            seen.add(module.kind)
            yield attack(str(module), forge.flip(file.content, place(module, CIPHERTEXT)), allowed)


@every_kind
def test_a_flipped_bit_is_detected(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    assert probe.unexpected(flips(file_of(kind)), kind.algorithm) == {}
    assert probe.unexpected(metadata_flips(file_of(kind)), kind.algorithm) == {}


@every_kind
def test_a_query_does_not_read_modules_that_it_does_not_need(
    probe: Probe, file_of: FileOf, older_file_of: FileOf, kind: FileKind
) -> None:
    # Not noticed, and not needed: the magic at the start, and indexes and filters where there is nothing to look up.
    assert probe.unexpected(unread(probe.reader, file_of(kind)), kind.algorithm) == {}
    # The probe would see other rows. An older version of the whole file is one that no check detects.
    assert probe.unexpected([attack("rollback", older_file_of(kind).content, OTHER)], kind.algorithm) == {}
