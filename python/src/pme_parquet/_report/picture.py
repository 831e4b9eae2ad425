"""A picture of one file's layout, to scale: the whole file, its end magnified, and one column chunk."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from pme_parquet._display.words import number, size
from pme_parquet._report.boxes import HEADERS, boxes_of, chunk, is_page, module
from pme_parquet._report.html import Html, listed, paragraph, table, tag
from pme_parquet._report.layout import HIDDEN_BODY
from pme_parquet._report.strip import strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pme_parquet._report.layout import Layout, Part, State
    from pme_parquet._report.palette import Palette

_MOST_PAGES = 24
_MOST_COLUMNS = 40
# The end of a file is magnified if it is a smaller part of the file than this.
_LARGE_END = 0.5


def picture(layout: Layout, palette: Palette) -> Html:
    """The strips, a legend of their colours, and the same in numbers."""
    parts = layout.parts
    total = f"The whole file, {size(layout.bytes)}, to scale"
    strips = [strip(total, boxes_of(parts, chunk), palette, (0, layout.bytes), parts)]
    strips += _pages(parts, palette)
    strips += _end(parts, palette, layout.bytes)
    note = [paragraph(layout.note, class_="note")] if layout.note else []
    return tag("div", *note, *strips, _legend(layout, palette), _columns(layout, palette), class_="layout")


def _end(parts: Sequence[Part], palette: Palette, whole: int) -> list[Html]:
    """Everything after the last page, if it is too small to be seen in the picture of the whole file."""
    pages = [part.end for part in parts if is_page(part) or part.kind == HIDDEN_BODY]
    start = max(pages, default=0)
    if not whole - start or (whole - start) / whole > _LARGE_END:
        return []
    title = (
        f"Its end, {size(whole - start)}, enlarged {whole / (whole - start):,.0f} times: indexes, filters and footer"
    )
    tail = [part for part in parts if part.offset >= start]
    return [strip(title, boxes_of(tail, module), palette, (start, whole))]


def _pages(parts: Sequence[Part], palette: Palette) -> list[Html]:
    """The first pages of the column chunk with the most pages."""
    chunks: dict[tuple[int | None, str | None], list[Part]] = defaultdict(list)
    for part in parts:
        if is_page(part) and part.kind != "pages":
            chunks[part.row_group, part.column].append(part)
    if not chunks:
        return []
    (row_group, column), pages = max(chunks.items(), key=lambda chunk: len(chunk[1]))
    drawn = pages[: 2 * _MOST_PAGES]
    count, shown = (sum(part.kind not in HEADERS for part in some) for some in (pages, drawn))
    extent = f"the first {shown} of its {count:,} pages" if shown < count else number(count, "page")
    title = f"One column chunk: {column}, row group {row_group}: {extent}, each a header and a body"
    return [strip(title, boxes_of(drawn, module), palette, (drawn[0].offset, drawn[-1].end))]


def _legend(layout: Layout, palette: Palette) -> Html:
    bytes_of: dict[tuple[State, str | None], int] = defaultdict(int)
    for part in layout.parts:
        bytes_of[part.state, part.key] += part.length
    readable = {part.kind for part in layout.parts if part.state == "plaintext"}
    words = {
        "plaintext": f"readable by anyone with the file{': ' + readable.pop() if len(readable) == 1 else ''}",
        "hidden": "not visible without keys",
        "frame": "magic bytes, lengths and signatures",
    }
    items = []
    for state, key in sorted(bytes_of, key=lambda one: (one[0] != "encrypted", one[0], one[1] or "")):
        share = f"{size(bytes_of[state, key])}, {100 * bytes_of[state, key] / layout.bytes:.1f} %"
        label = f"encrypted with key {key or 'not named'}" if state == "encrypted" else words[state]
        items.append(tag("span", palette.swatch(state, key), f" {label}: {share}"))
    return listed(items, class_="legend")


def _columns(layout: Layout, palette: Palette) -> Html:
    """The same in numbers, by column."""
    found = layout.of_columns()
    if not found:
        return Html("")
    rows = []
    for (column, key, state), length in list(found.items())[:_MOST_COLUMNS]:
        label = f" key {key}" if state == "encrypted" else " not encrypted"
        share = f"{100 * length / layout.bytes:.1f} %"
        rows.append((column, tag("span", palette.swatch(state, key), label), size(length), share))
    more = len(found) - _MOST_COLUMNS
    shown = table("Columns of this file", ("Column", "Protected by", "Size", "Share"), rows, numbers=(2, 3))
    return tag("div", shown, *([paragraph(f"and {more:,} more", class_="note")] if more > 0 else []))
