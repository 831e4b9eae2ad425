"""Undamaged modules in wrong places: swapped, moved, replayed, removed, or in a truncated file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.attacks.conftest import every_kind
from tests.attacks.probe import DAMAGED, NOISE, NOT_AUTHENTIC, OTHER, SAME, Attack, attack
from tests.attacks.queries import query_for
from tests.support.files import bend, forge
from tests.support.files.anatomy import BLOOMS, NO_PAGE, Anatomy, Kind, Module
from tests.support.files.writers import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.attacks.conftest import FileOf
    from tests.attacks.probe import Probe
    from tests.support.files.writers import Kind as FileKind

# Of uncompressed files: their modules of one kind often have the same size, so a swap breaks nothing but the AAD.
EVEN = [kind for kind in KINDS if kind.compression == "none"]
even_kinds = pytest.mark.parametrize("kind", EVEN, ids=str)


def relation(one: Module, other: Module) -> str:
    """Return how far apart two modules of one kind are."""
    if one.column == other.column:
        return "within the chunk" if one.row_group == other.row_group else "between row groups"
    key = "of one key" if one.seal.key == other.seal.key else "of two keys"
    return f"between columns {key}"


def pairs(file: Anatomy) -> dict[str, tuple[Module, Module]]:
    """Return a pair of modules of equal kind and size for each kind and relation that the file has."""
    found: dict[str, tuple[Module, Module]] = {}
    modules = file.modules
    for number, one in enumerate(modules):
        for other in modules[number + 1 :]:
            if one.kind == other.kind and one.size == other.size:
                found.setdefault(f"{one.kind.name.lower()} {relation(one, other)}", (one, other))
    return found


def swapped(file: Anatomy, one: Module, other: Module) -> bytes:
    content = forge.put(file.content, one.offset, file.bytes_of(other))
    return forge.put(content, other.offset, file.bytes_of(one))


def expected(one: Module, other: Module) -> tuple[str, ...]:
    """Return the permitted outcomes of reading a module in the place of another."""
    if not one.seal.ctr:
        return (NOT_AUTHENTIC,)
    # CTR does not bind a page to its place; under another key it is noise. Pages of `name` may be equal.
    if one.seal.key != other.seal.key:
        return NOISE
    return (SAME, OTHER) if one.kind == Kind.DICTIONARY_PAGE or one.column == 0 else (OTHER,)


def swaps(file: Anatomy) -> Iterator[Attack]:
    for name, (one, other) in pairs(file).items():
        yield attack(name, swapped(file, one, other), *expected(one, other), query=query_for(file, one))


@even_kinds
def test_swapped_modules_do_not_open(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    assert probe.unexpected(swaps(file_of(kind)), kind.algorithm) == {}


@every_kind
def test_the_files_have_the_modules_under_attack(file_of: FileOf, kind: FileKind) -> None:
    file = file_of(kind)
    found = {module.kind for chunk in file.chunks for module in chunk.modules}
    assert found == set(Kind) - {Kind.FOOTER, Kind.COLUMN_METADATA} - (set(BLOOMS) if kind.writer == "arrow" else set())
    assert {chunk.row_group for chunk in file.chunks} == {0, 1}
    assert len(file.named("salary").of(Kind.DATA_PAGE)) > 1
    assert len(file.named("name").of(Kind.DICTIONARY_PAGE)) == 1


@even_kinds
def test_the_files_have_modules_to_swap(file_of: FileOf, kind: FileKind) -> None:
    found = set(pairs(file_of(kind)))
    assert "data_page within the chunk" in found
    if kind.writer == "arrow":  # in other files it depends on the version whether two row groups have pages of one size
        assert "data_page between row groups" in found
    assert {"data_page_header within the chunk", "data_page_header between columns of two keys"} <= found
    if str(kind) == "ours-gcm-encrypted_footer":
        assert "data_page between columns of one key" in found


def copies(file: Anatomy) -> Iterator[Attack]:
    for name, (one, other) in pairs(file).items():
        content = forge.put(file.content, other.offset, file.bytes_of(one))
        yield attack(name, content, *expected(one, other), query=query_for(file, other))


@even_kinds
def test_a_module_repeated_in_the_place_of_another_does_not_open(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    assert probe.unexpected(copies(file_of(kind)), kind.algorithm) == {}


def page_pairs(file: Anatomy) -> Iterator[tuple[int, int, int]]:
    """Yield the bounds of two neighbouring pages of a chunk, each with its header."""
    for chunk in file.chunks:
        data = [one for one in chunk.pages if one.page != NO_PAGE and one.seal.key]
        if len(data) >= 4:
            yield data[0].offset, data[2].offset, data[3].end


@every_kind
def test_pages_swapped_together_with_their_headers_do_not_open(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    file = file_of(kind)
    content = file.content
    attacks = [
        attack(str(first), forge.put(content, first, content[second:end] + content[first:second]), NOT_AUTHENTIC)
        for first, second, end in page_pairs(file)
    ]
    assert probe.unexpected(attacks, kind.algorithm) == {}


def replays(file: Anatomy, older: Anatomy) -> Iterator[Attack]:
    """Put modules of an older version of the file into the places of their successors: one of each kind and column."""
    seen: set[tuple[Kind, int]] = set()
    for one, old in zip(file.modules, older.modules, strict=True):
        if one.size == old.size and (one.kind, one.column) not in seen:
            seen.add((one.kind, one.column))
            content = forge.put(file.content, one.offset, older.bytes_of(old))
            yield attack(str(one), content, *expected(one, old), query=query_for(file, one))


@every_kind
def test_modules_of_an_older_version_of_the_file_do_not_open(
    probe: Probe, file_of: FileOf, older_file_of: FileOf, kind: FileKind
) -> None:
    assert probe.unexpected(replays(file_of(kind), older_file_of(kind)), kind.algorithm) == {}


@every_kind
def test_a_footer_of_an_older_version_does_not_open_the_pages(
    probe: Probe, file_of: FileOf, older_file_of: FileOf, kind: FileKind
) -> None:
    file, older = file_of(kind), older_file_of(kind)
    data = file.content[: file.footer_at].ljust(older.footer_at, b"\0")[: older.footer_at]
    # The older footer opens, but no module of the newer file does: their AAD and keys differ.
    attacks = [attack("footer", data + older.content[older.footer_at :], NOT_AUTHENTIC, DAMAGED)]
    assert probe.unexpected(attacks, kind.algorithm) == {}


@every_kind
def test_an_older_version_of_the_whole_file_is_read(probe: Probe, older_file_of: FileOf, kind: FileKind) -> None:
    # Not detected, as the threat model says: a rollback passes every check.
    assert probe.unexpected([attack("rollback", older_file_of(kind).content, OTHER)], kind.algorithm) == {}


def cuts(file: Anatomy) -> Iterator[Attack]:
    content = file.content
    ends = [1, 3, 4, 11, 12, len(content) // 2, file.footer_at, file.footer_at + 50, len(content) - 1]
    for end in [*ends, *(module.end for module in file.modules[::5])]:
        if end < len(content):
            yield attack(f"at {end}", content[:end], DAMAGED)


@every_kind
def test_a_truncated_file_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    by_end = {one.name: one for one in cuts(file_of(kind))}
    assert probe.unexpected(by_end.values(), kind.algorithm) == {}


def without_pages(file: Anatomy) -> Iterator[Attack]:
    """Remove a page with its header. What follows moves up, so the next header takes its place."""
    for chunk in file.chunks:
        data = [one for one in chunk.pages if one.page == 0 and one.seal.key]
        if data:
            name = f"column {chunk.column} of group {chunk.row_group}"
            content = file.content[: data[0].offset] + file.content[data[1].end :]
            yield attack(name, content, NOT_AUTHENTIC, DAMAGED)


@every_kind
def test_a_file_with_a_page_removed_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    assert probe.unexpected(without_pages(file_of(kind)), kind.algorithm) == {}


def paddings(file: Anatomy) -> Iterator[Attack]:
    content, pad = file.content, bytes(16)
    tail = content[file.footer_at : -bend.TAIL_BYTES]
    longer = tail + pad
    yield attack("behind the magic", content + pad, DAMAGED)
    yield attack("behind the footer, not counted", content[:-8] + pad + content[-8:], DAMAGED, NOT_AUTHENTIC)
    # In a signed footer the last 28 bytes are the signature.
    yield attack("behind the footer, counted", bend.with_footer(content, longer), DAMAGED, NOT_AUTHENTIC)
    yield attack("before the footer, counted", bend.with_footer(content, pad + tail), DAMAGED, NOT_AUTHENTIC)
    # Nothing reads a gap between pages and footer, and every offset counts from the file's start.
    yield attack("before the footer, not counted", content[: file.footer_at] + pad + content[file.footer_at :], SAME)


@every_kind
def test_a_padded_file_is_refused_or_its_padding_is_not_read(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    assert probe.unexpected(paddings(file_of(kind)), kind.algorithm) == {}
