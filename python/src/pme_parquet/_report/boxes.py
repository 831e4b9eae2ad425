"""Parts of a file as boxes of a picture: which parts share a box, and what a box is called."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from pme_parquet._display.words import size

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from pme_parquet._report.layout import Part

# A strip has no room for more boxes: beyond that, neighbours with one key are joined.
MOST_BOXES = 400
HEADERS = ("data page header", "dictionary page header", "Bloom filter header")


@dataclass(frozen=True, slots=True)
class Box:
    """A drawn box: parts that follow one another."""

    parts: tuple[Part, ...]

    @property
    def first(self) -> Part:
        """Its first part."""
        return self.parts[0]

    @property
    def offset(self) -> int:
        """Its offset."""
        return self.first.offset

    @property
    def length(self) -> int:
        """Its length."""
        return self.parts[-1].end - self.offset

    @property
    def columns(self) -> list[str]:
        """The columns it belongs to."""
        return list(dict.fromkeys(part.column for part in self.parts if part.column is not None))

    @property
    def kinds(self) -> str:
        """The kinds of its parts."""
        kinds = {part.kind for part in self.parts}
        if len(kinds) == 1:
            return kinds.pop()
        pages = [is_page(part) for part in self.parts]
        return "pages" if all(pages) else "pages, indexes and filters" if any(pages) else "indexes and filters"


def chunk(part: Part) -> Hashable:
    """The grouping for a whole file: the pages of a chunk are one box, and the indexes of one key are one box."""
    return part.state, part.key, (part.row_group, part.column) if is_page(part) else part.column is None and part.kind


def module(part: Part) -> Hashable:
    """The grouping by module: each page and each index is a box of its own."""
    return part.state, part.key, part.kind, part.row_group, part.column, part.page


def _key(part: Part) -> Hashable:
    return part.state, part.key


def is_page(part: Part) -> bool:
    """Whether it is a page, or several pages drawn as one."""
    return part.kind == "pages" or "page" in part.kind.split()


def boxes_of(parts: Sequence[Part], alike: Callable[[Part], Hashable]) -> list[Box]:
    """Joins similar neighbours into boxes, at most as many as fit in a strip."""
    boxes = [Box(tuple(same)) for _, same in groupby(parts, alike)]
    return boxes if len(boxes) <= MOST_BOXES else _fewer(parts)


def _fewer(parts: Sequence[Part]) -> list[Box]:
    """Joins neighbours of one key, and if there are still too many boxes, the smallest with the ones before them."""
    boxes = [Box(tuple(same)) for _, same in groupby(parts, _key)]
    if len(boxes) <= MOST_BOXES:
        return boxes
    least = (parts[-1].end - parts[0].offset) // MOST_BOXES
    drawn: list[Box] = []
    for box in boxes:
        if drawn and drawn[-1].length < least:
            drawn[-1] = replace(drawn[-1], parts=drawn[-1].parts + box.parts)
        else:
            drawn.append(box)
    return drawn


def name_of(box: Box) -> str:
    """The name below the box."""
    part = box.first
    if len(box.columns) > 1:
        return box.kinds
    if part.column is not None and is_page(part) and (len(box.parts) > 1 or part.kind == "pages"):
        return part.column
    return box.kinds if part.page is None else f"{box.kinds} {part.page}"


def tooltip_of(box: Box) -> str:
    """The text of its tooltip."""
    part = box.first
    columns = box.columns
    what = box.kinds if part.page is None or len(box.parts) > 1 else f"{box.kinds} {part.page}"
    of = f" of column {columns[0]}" if len(columns) == 1 else f" of {len(columns):,} columns" if columns else ""
    group = f", row group {part.row_group}" if len(columns) == 1 else ""
    return f"{what}{of}{group}: {size(box.length)} ({_protection(part)})"


def _protection(part: Part) -> str:
    if part.state == "encrypted":
        return f"encrypted, key {part.key or 'not named'}"
    return {"plaintext": "not encrypted", "hidden": "not visible", "frame": "no content"}[part.state]
