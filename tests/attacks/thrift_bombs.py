"""Thrift that would take all memory or the whole stack, in each part of a file that anyone can write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.attacks import bombs
from tests.attacks.probe import DAMAGED, FILTERED, Attack, attack
from tests.support.files import bend, forge
from tests.support.files.anatomy import INDEXES, PAGE_HEADERS, Anatomy, Kind, Module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Bombs = Callable[[Anatomy], Iterator[Attack]]

FOOTER_BYTES = 300_000


def crypto_metadata(file: Anatomy) -> Iterator[Attack]:
    for name, bomb in bombs.bombs(FOOTER_BYTES).items():
        yield attack(name, bend.with_footer(file.content, bomb), DAMAGED)


def readable_footers(file: Anatomy) -> Iterator[Attack]:
    for name, bomb in (bombs.bombs(FOOTER_BYTES) | bombs.FOOTERS).items():
        signature = bytes(bend.SIGNATURE_BYTES)
        yield attack(name, bend.with_footer(file.content, bomb + signature), DAMAGED)


def readable_parts(file: Anatomy, *kinds: Kind) -> list[Module]:
    return [module for chunk in file.chunks for module in chunk.modules if module.kind in kinds and not module.seal.key]


def in_place(file: Anatomy, module: Module, bomb: bytes) -> bytes:
    """Write a bomb over a part of a plaintext column, up to the end of its chunk at most."""
    if module.kind in INDEXES:
        room = module.size
    else:
        chunk = next(one for one in file.chunks if (one.row_group, one.column) == (module.row_group, module.column))
        room = chunk.start + chunk.size - module.offset
    return forge.put(file.content, module.offset, bomb[:room])


def page_headers(file: Anatomy) -> Iterator[Attack]:
    headers = readable_parts(file, *PAGE_HEADERS)
    whole = bombs.bombs(100) | bombs.PAGE_HEADERS | bombs.HEADER_SIZES | bombs.DICTIONARIES
    for name, bomb in whole.items():
        for header in (headers[0], headers[-1]):
            yield attack(f"{name} as {header}", in_place(file, header, bomb), DAMAGED)


def indexes(file: Anatomy) -> Iterator[Attack]:
    for kind in INDEXES:
        [index, *_] = readable_parts(file, kind)
        for name, bomb in bombs.bombs(index.size).items():
            content = in_place(file, index, bomb)
            yield attack(f"{name} as {index}", content, DAMAGED, query=FILTERED)


def sealed_footers(file: Anatomy) -> Iterator[Attack]:
    for name, bomb in (bombs.bombs(FOOTER_BYTES) | bombs.FOOTERS).items():
        yield attack(name, forge.with_raw_footer(file, bomb), DAMAGED)


def sealed_metadata(file: Anatomy) -> Iterator[Attack]:
    chunk = file.named("salary")
    for name, bomb in bombs.bombs(FOOTER_BYTES).items():
        change = forge.in_chunk(chunk, forge.raw_metadata(file, chunk, bomb))
        yield attack(name, forge.with_footer(file, change), DAMAGED)


def sealed_headers(file: Anatomy) -> Iterator[Attack]:
    chunk = file.named("salary")
    for name, bomb in (bombs.bombs(5000) | bombs.PAGE_HEADERS | bombs.HEADER_SIZES).items():
        yield attack(name, forge.with_module(file, chunk, chunk.pages[0], bomb), DAMAGED)


def sealed_indexes(file: Anatomy) -> Iterator[Attack]:
    chunk = file.named("salary")
    for kind in INDEXES:
        [module] = chunk.of(kind)
        for name, bomb in bombs.bombs(5000).items():
            content = forge.with_index(file, chunk, module, bomb)
            yield attack(f"{name} as {kind.name.lower()}", content, DAMAGED, query=FILTERED)
