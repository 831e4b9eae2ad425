"""Lengths that nothing authenticates, forged."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tests.attacks.probe import DAMAGED, NOT_AUTHENTIC, Attack, attack
from tests.attacks.queries import query_for
from tests.support.files import bend, forge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.files.anatomy import Anatomy

HUGE = {"two GiB": 0x7FFFFFF0, "the largest": 0x7FFFFFFF}


def huge_everywhere(file: Anatomy) -> Iterator[Attack]:
    for module in file.modules:
        content = forge.put(file.content, module.offset, struct.pack("<i", HUGE["two GiB"]))
        yield attack(str(module), content, DAMAGED, query=query_for(file, module))


def footer_lengths(file: Anatomy) -> Iterator[Attack]:
    content = file.content
    size = len(content) - bend.TAIL_BYTES - file.footer_at
    impossible = {"zero": 0, "negative": -1, "the smallest": -(2**31), **HUGE, "the file's": len(content)}
    for name, length in impossible.items():
        yield attack(name, content[:-8] + struct.pack("<i", length) + content[-4:], DAMAGED)
    for name, length in {"one": 1, "one less": size - 1, "one more": size + 1, "all": len(content) - 12}.items():
        yield attack(name, content[:-8] + struct.pack("<i", length) + content[-4:], DAMAGED, NOT_AUTHENTIC)
