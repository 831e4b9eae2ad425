"""A picture of one file's layout, to scale: all of it, its end magnified, and one column chunk."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from pme_parquet._inspect.words import number, size
from pme_parquet._report.html import Html, listed, paragraph, table, tag
from pme_parquet._report.layout import HIDDEN_BODY

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from pme_parquet._report.layout import Layout, Part, State
    from pme_parquet._report.palette import Palette

# A strip has room for no more: after that neighbours of one key become one.
_MOST_BOXES = 400
_MOST_PAGES = 24
_MOST_COLUMNS = 40
# Shares of a strip, in percent, that have room for a letter, for a letter of a name, and to be seen at all.
_LETTER, _OF_NAME, _SEEN = 3, 0.6, 0.15
# The end of a file is magnified where it is a smaller share of it.
_LARGE_END = 0.5
_HEIGHT, _TOP, _BOTTOM = 44, 18, 18
_HEADERS = ("data page header", "dictionary page header", "Bloom filter header")


@dataclass(frozen=True, slots=True)
class _Box:
    """Something drawn: parts that follow one another."""

    parts: tuple[Part, ...]

    @property
    def first(self) -> Part:
        return self.parts[0]

    @property
    def offset(self) -> int:
        return self.first.offset

    @property
    def length(self) -> int:
        return self.parts[-1].end - self.offset

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(part.column for part in self.parts if part.column is not None))

    @property
    def kinds(self) -> str:
        """What its parts are."""
        kinds = {part.kind for part in self.parts}
        if len(kinds) == 1:
            return kinds.pop()
        pages = [_is_page(part) for part in self.parts]
        return "pages" if all(pages) else "pages, indexes and filters" if any(pages) else "indexes and filters"


def picture(layout: Layout, palette: Palette) -> Html:
    """The strips, what their colours mean, and the same in numbers."""
    parts = layout.parts
    total = f"The whole file, {size(layout.bytes)}, to scale"
    strips = [_strip(total, _boxes(parts, _chunk), palette, (0, layout.bytes), parts)]
    strips += _pages(parts, palette)
    strips += _end(parts, palette, layout.bytes)
    note = [paragraph(layout.note, class_="note")] if layout.note else []
    return tag("div", *note, *strips, _legend(layout, palette), _columns(layout, palette), class_="layout")


def _chunk(part: Part) -> Hashable:
    """In a picture of all of a file, the pages of a chunk are one, and so are the indexes of one key."""
    return part.state, part.key, (part.row_group, part.column) if _is_page(part) else part.column is None and part.kind


def _module(part: Part) -> Hashable:
    return part.state, part.key, part.kind, part.row_group, part.column, part.page


def _key(part: Part) -> Hashable:
    return part.state, part.key


def _is_page(part: Part) -> bool:
    return part.kind == "pages" or "page" in part.kind.split()


def _boxes(parts: Sequence[Part], alike: Callable[[Part], Hashable]) -> list[_Box]:
    boxes = [_Box(tuple(same)) for _, same in groupby(parts, alike)]
    return boxes if len(boxes) <= _MOST_BOXES else _fewer(parts)


def _fewer(parts: Sequence[Part]) -> list[_Box]:
    """Neighbours of one key as one, and where there are still too many, the smallest with what is before them."""
    boxes = [_Box(tuple(same)) for _, same in groupby(parts, _key)]
    if len(boxes) <= _MOST_BOXES:
        return boxes
    least = (parts[-1].end - parts[0].offset) // _MOST_BOXES
    drawn: list[_Box] = []
    for box in boxes:
        if drawn and drawn[-1].length < least:
            drawn[-1] = replace(drawn[-1], parts=drawn[-1].parts + box.parts)
        else:
            drawn.append(box)
    return drawn


def _end(parts: Sequence[Part], palette: Palette, whole: int) -> list[Html]:
    """What lies after the last page, where it is too small to be seen in the picture of all."""
    pages = [part.end for part in parts if _is_page(part) or part.kind == HIDDEN_BODY]
    start = max(pages, default=0)
    if not whole - start or (whole - start) / whole > _LARGE_END:
        return []
    told = f"Its end, {size(whole - start)}, {whole / (whole - start):,.0f} times as large: indexes, filters and footer"
    tail = [part for part in parts if part.offset >= start]
    return [_strip(told, _boxes(tail, _module), palette, (start, whole))]


def _pages(parts: Sequence[Part], palette: Palette) -> list[Html]:
    """The first pages of the column chunk that has most of them."""
    chunks: dict[tuple[int | None, str | None], list[Part]] = defaultdict(list)
    for part in parts:
        if _is_page(part) and part.kind != "pages":
            chunks[part.row_group, part.column].append(part)
    if not chunks:
        return []
    (row_group, column), pages = max(chunks.items(), key=lambda chunk: len(chunk[1]))
    drawn = pages[: 2 * _MOST_PAGES]
    count, shown = (sum(part.kind not in _HEADERS for part in some) for some in (pages, drawn))
    told = f"the first {shown} of its {count:,} pages" if shown < count else number(count, "page")
    title = f"One column chunk: {column}, row group {row_group}: {told}, each a header and a body"
    return [_strip(title, _boxes(drawn, _module), palette, (drawn[0].offset, drawn[-1].end))]


def _strip(
    title: str, boxes: Iterable[_Box], palette: Palette, ends: tuple[int, int], groups: Sequence[Part] = ()
) -> Html:
    start, end = ends
    scale = 100 / (end - start)
    drawn = [Html("")]
    for box in boxes:
        drawn += _drawn(box, palette, (box.offset - start) * scale, box.length * scale)
    marks = _row_groups(groups, scale)
    svg = tag("svg", tag("title", title), *drawn, *marks, width="100%", height=_TOP + _HEIGHT + _BOTTOM, role="img")
    return tag("figure", tag("figcaption", title), svg)


def _drawn(box: _Box, palette: Palette, at: float, width: float) -> Iterator[Html]:
    """A rectangle with what it is; what is too small to be seen has a mark above."""
    class_ = palette.of(box.first) + (" header" if all(part.kind in _HEADERS for part in box.parts) else "")
    place = {"x": f"{at:.4f}%", "y": _TOP, "width": f"{width:.4f}%", "height": _HEIGHT}
    told = tag("title", _told(box))
    yield tag("rect", told, **place, class_=class_)
    if width < _SEEN:
        yield tag("rect", told, x=f"{at:.4f}%", y=_TOP - 6, width=2, height=5, class_="mark")
    if width >= _LETTER and box.first.key:
        middle = f"{at + width / 2:.4f}%"
        yield tag("text", palette.letter(box.first.key), x=middle, y=_TOP + _HEIGHT / 2 + 5, class_="letter")
    yield from _named(_name(box), at, width, _TOP + _HEIGHT, _BOTTOM)


def _named(text: str, at: float, width: float, y: int, height: int) -> Iterator[Html]:
    """A name below or above what it is of, if there is room for it; on a narrow page it is cut where that ends."""
    if width < _OF_NAME * len(text):
        return
    inner = tag("text", text, x=1, y=height - 5, class_="name")
    yield tag("svg", inner, x=f"{at:.4f}%", y=y, width=f"{width:.4f}%", height=height)


def _row_groups(parts: Sequence[Part], scale: float) -> Iterator[Html]:
    """Where each row group begins and ends, above its column chunks."""
    pages = [part for part in parts if _is_page(part) and part.row_group is not None]
    groups = [tuple(same) for _, same in groupby(pages, lambda part: part.row_group)]
    for group in groups[:_MOST_BOXES]:
        at, width = group[0].offset * scale, (group[-1].end - group[0].offset) * scale
        yield tag("rect", x=f"{at:.4f}%", y=_TOP - 4, width=f"{width:.4f}%", height=2, class_="group")
        yield from _named(f"row group {group[0].row_group}", at, width, 0, _TOP - 2)


def _name(box: _Box) -> str:
    part = box.first
    if len(box.columns) > 1:
        return box.kinds
    if part.column is not None and _is_page(part) and (len(box.parts) > 1 or part.kind == "pages"):
        return part.column
    return box.kinds if part.page is None else f"{box.kinds} {part.page}"


def _told(box: _Box) -> str:
    """What a tooltip says."""
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


def _legend(layout: Layout, palette: Palette) -> Html:
    bytes_of: dict[tuple[State, str | None], int] = defaultdict(int)
    for part in layout.parts:
        bytes_of[part.state, part.key] += part.length
    readable = {part.kind for part in layout.parts if part.state == "plaintext"}
    words = {
        "plaintext": f"readable by anyone who has the file{': ' + readable.pop() if len(readable) == 1 else ''}",
        "hidden": "not visible without keys",
        "frame": "magic bytes, lengths and signatures, as every file has them",
    }
    items = []
    for state, key in sorted(bytes_of, key=lambda one: (one[0] != "encrypted", one[0], one[1] or "")):
        share = f"{size(bytes_of[state, key])}, {100 * bytes_of[state, key] / layout.bytes:.1f} %"
        told = f"encrypted with key {key or 'not named'}" if state == "encrypted" else words[state]
        items.append(tag("span", palette.swatch(state, key), f" {told}: {share}"))
    return listed(items, class_="legend")


def _columns(layout: Layout, palette: Palette) -> Html:
    """The same in numbers, column by column."""
    found = layout.of_columns()
    if not found:
        return Html("")
    rows = []
    for (column, key, state), length in list(found.items())[:_MOST_COLUMNS]:
        told = f" key {key}" if state == "encrypted" else " not encrypted"
        share = f"{100 * length / layout.bytes:.1f} %"
        rows.append((column, tag("span", palette.swatch(state, key), told), size(length), share))
    more = len(found) - _MOST_COLUMNS
    shown = table("Columns of this file", ("Column", "Protected by", "Size", "Share"), rows, numbers=(2, 3))
    return tag("div", shown, *([paragraph(f"and {more:,} more", class_="note")] if more > 0 else []))
