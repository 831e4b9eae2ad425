"""A strip of a picture: boxes to scale, in one row."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from pme_parquet._report.boxes import HEADERS, MOST_BOXES, is_page, name_of, tooltip_of
from pme_parquet._report.html import Html, tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pme_parquet._report.boxes import Box
    from pme_parquet._report.layout import Part
    from pme_parquet._report.palette import Palette

# Parts of a strip, in percent: wide enough for a letter, for a letter of a name, and to be visible at all.
_LETTER, _OF_NAME, _SEEN = 3, 0.6, 0.15
_HEIGHT, _TOP, _BOTTOM = 44, 18, 18


def strip(
    title: str, boxes: Iterable[Box], palette: Palette, ends: tuple[int, int], groups: Sequence[Part] = ()
) -> Html:
    """Draws boxes to scale, in file order.

    Args:
        title: of the strip.
        boxes: the boxes to draw.
        palette: colours of keys.
        ends: the offsets in the file where the strip begins and ends.
        groups: parts whose row groups are marked above the strip.
    """
    start, end = ends
    scale = 100 / (end - start)
    drawn = [Html("")]
    for box in boxes:
        drawn += _drawn(box, palette, (box.offset - start) * scale, box.length * scale)
    marks = _row_groups(groups, scale)
    svg = tag("svg", tag("title", title), *drawn, *marks, width="100%", height=_TOP + _HEIGHT + _BOTTOM, role="img")
    return tag("figure", tag("figcaption", title), svg)


def _drawn(box: Box, palette: Palette, at: float, width: float) -> Iterator[Html]:
    """A rectangle with its tooltip. If it is too small to be seen, a mark is drawn above it."""
    class_ = palette.of(box.first) + (" header" if all(part.kind in HEADERS for part in box.parts) else "")
    place = {"x": f"{at:.4f}%", "y": _TOP, "width": f"{width:.4f}%", "height": _HEIGHT}
    tooltip = tag("title", tooltip_of(box))
    yield tag("rect", tooltip, **place, class_=class_)
    if width < _SEEN:
        yield tag("rect", tooltip, x=f"{at:.4f}%", y=_TOP - 6, width=2, height=5, class_="mark")
    if width >= _LETTER and box.first.key:
        middle = f"{at + width / 2:.4f}%"
        yield tag("text", palette.letter(box.first.key), x=middle, y=_TOP + _HEIGHT / 2 + 5, class_="letter")
    yield from _named(name_of(box), at, width, _TOP + _HEIGHT, _BOTTOM)


def _named(text: str, at: float, width: float, y: int, height: int) -> Iterator[Html]:
    """A name below or above its box, if there is room for it; on a narrow page it is cut off at the end of the box."""
    if width < _OF_NAME * len(text):
        return
    inner = tag("text", text, x=1, y=height - 5, class_="name")
    yield tag("svg", inner, x=f"{at:.4f}%", y=y, width=f"{width:.4f}%", height=height)


def _row_groups(parts: Sequence[Part], scale: float) -> Iterator[Html]:
    """The beginning and end of each row group, above its column chunks."""
    pages = [part for part in parts if is_page(part) and part.row_group is not None]
    groups = [tuple(same) for _, same in groupby(pages, lambda part: part.row_group)]
    for group in groups[:MOST_BOXES]:
        at, width = group[0].offset * scale, (group[-1].end - group[0].offset) * scale
        yield tag("rect", x=f"{at:.4f}%", y=_TOP - 4, width=f"{width:.4f}%", height=2, class_="group")
        yield from _named(f"row group {group[0].row_group}", at, width, 0, _TOP - 2)
