"""Every length that nothing authenticates is forged, and refused before anything of that length is allocated."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from tests.attacks.conftest import every_kind
from tests.attacks.lengths import HUGE, footer_lengths, huge_everywhere
from tests.attacks.probe import DAMAGED, NOT_AUTHENTIC, Attack, attack
from tests.attacks.queries import query_for
from tests.support.files import bend, forge
from tests.support.files.writers import Kind as FileKind
from tests.support.interop.modes import CTR, GCM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.attacks.conftest import FileOf
    from tests.attacks.probe import Probe
    from tests.support.files.anatomy import Anatomy, Kind, Module

# Four files stand for twelve: the same code reads the lengths of one kind of module in all of them.
KINDS = [
    FileKind("ours", GCM, plain_footer=False),
    FileKind("java", GCM, plain_footer=True),
    FileKind("arrow", CTR, plain_footer=False),
    FileKind("ours", CTR, plain_footer=True),
]
four_kinds = pytest.mark.parametrize("kind", KINDS, ids=str)

SMALL = {"zero": 0, "one": 1, "of a nonce": 12, "of nonce and tag": 28, "negative": -1, "the smallest": -(2**31)}
OTHERS = {"one less": -1, "one more": 1}


def lengths(module: Module) -> dict[str, int]:
    """Return the forged lengths for this module."""
    size = module.size - bend.LENGTH_BYTES
    return SMALL | HUGE | {name: size + by for name, by in OTHERS.items()}


def expected(module: Module, length: int) -> tuple[str, ...]:
    short = 0 < module.size - bend.LENGTH_BYTES - length < module.size - bend.SIGNATURE_BYTES
    return (DAMAGED, NOT_AUTHENTIC) if short or length > 0 else (DAMAGED,)


def first_of_each(file: Anatomy) -> Iterator[Module]:
    seen: set[Kind] = set()
    for module in file.modules:
        if module.kind not in seen:
            seen.add(module.kind)
            yield module


def forged(file: Anatomy) -> Iterator[Attack]:
    for module in first_of_each(file):
        for name, length in lengths(module).items():
            content = forge.put(file.content, module.offset, struct.pack("<i", length))
            allowed = expected(module, length)
            yield attack(f"{module.kind.name.lower()}: {name}", content, *allowed, query=query_for(file, module))


@four_kinds
def test_a_forged_length_of_a_module_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    assert probe.unexpected(forged(file_of(kind)), kind.algorithm) == {}


@four_kinds
def test_no_huge_length_of_any_module_is_trusted(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    assert probe.unexpected(huge_everywhere(file_of(kind)), kind.algorithm) == {}


@every_kind
def test_a_forged_length_of_the_footer_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    assert probe.unexpected(footer_lengths(file_of(kind)), kind.algorithm) == {}
