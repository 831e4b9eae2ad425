"""Undamaged modules in wrong places, in files of all writers; `MovedModulesSuite` has more ways, and other lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.attacks.conftest import every_kind
from tests.attacks.probe import DAMAGED, NOISE, NOT_AUTHENTIC, OTHER, SAME, Attack, attack
from tests.attacks.queries import query_for
from tests.support.files import forge
from tests.support.files.anatomy import BLOOMS, Anatomy, Kind, Module
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
    found = set(pairs(file_of(kind)))
    assert "data_page within the chunk" in found
    if kind.writer == "arrow":  # in other files it depends on the version whether two row groups have pages of one size
        assert "data_page between row groups" in found
    assert {"data_page_header within the chunk", "data_page_header between columns of two keys"} <= found
    if str(kind) == "ours-gcm-encrypted_footer":
        assert "data_page between columns of one key" in found
    assert probe.unexpected(swaps(file_of(kind)), kind.algorithm) == {}


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
    file = file_of(kind)
    found = {module.kind for chunk in file.chunks for module in chunk.modules}
    assert found == set(Kind) - {Kind.FOOTER, Kind.COLUMN_METADATA} - (set(BLOOMS) if kind.writer == "arrow" else set())
    assert {chunk.row_group for chunk in file.chunks} == {0, 1}
    assert len(file.named("salary").of(Kind.DATA_PAGE)) > 1
    assert len(file.named("name").of(Kind.DICTIONARY_PAGE)) == 1
    older = older_file_of(kind)
    data = file.content[: file.footer_at].ljust(older.footer_at, b"\0")[: older.footer_at]
    # The older footer opens, but no module of the newer file does: their AAD and keys differ.
    footer = attack("footer", data + older.content[older.footer_at :], NOT_AUTHENTIC, DAMAGED)
    assert probe.unexpected([footer, *replays(file, older)], kind.algorithm) == {}
