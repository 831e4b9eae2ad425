"""HTML that content cannot break out of: everything that `tag` did not make is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from pme_parquet._display.words import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Messages contain paths and names of keys.
_LONGEST = 2000
_VOID = {"meta"}
MOST_ROWS = 20


class Html(str):
    """Text that is HTML."""

    __slots__ = ()


def tag(name: str, /, *content: str, **attributes: object) -> Html:
    """An element. `class_` stands for an attribute that is a keyword in Python, and `_` becomes `-` in a name."""
    written = "".join(
        f' {attribute.rstrip("_").replace("_", "-")}="{escape(printable(str(value), _LONGEST))}"'
        for attribute, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{written}>") if name in _VOID else Html(f"<{name}{written}>{joined(content)}</{name}>")


def joined(parts: Iterable[str]) -> Html:
    """Parts joined together; text is escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(printable(part, _LONGEST)) for part in parts))


def anchor(title: str) -> str:
    """The name of a section in the page."""
    return title.lower().replace(" ", "-")


def link(title: str) -> Html:
    """A link to a section of the page."""
    return tag("a", title, href=f"#{anchor(title)}")


def paragraph(*content: str, class_: str | None = None) -> Html:
    """A paragraph."""
    return tag("p", *content, class_=class_)


def listed(items: Iterable[str]) -> Html:
    """A list, or nothing."""
    rows = [tag("li", item) for item in items]
    return tag("ul", *rows) if rows else Html("")


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> Html:
    """A table whose first column names its rows.

    Args:
        caption: what it shows.
        header: a title for each column.
        rows: cells, as many as titles.
        numbers: columns of numbers, which are aligned to the right like their titles.
    """

    def cell(number: int, content: str) -> Html:
        class_ = "number" if number in numbers else None
        return tag("td", content, class_=class_) if number else tag("th", content, scope="row", class_=class_)

    titles = [
        tag("th", title, scope="col", class_="number" if n in numbers else None) for n, title in enumerate(header)
    ]
    body = [tag("tr", *(cell(number, content) for number, content in enumerate(row))) for row in rows]
    parts = (tag("caption", caption), tag("thead", tag("tr", *titles)), tag("tbody", *body))
    # Content that is too wide for the page scrolls by itself, with the keyboard, too.
    return tag("div", tag("table", *parts), class_="wide", tabindex="0", role="region", aria_label=caption)


def limited(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    most: int = MOST_ROWS,
) -> Html:
    """A table of the first rows, and the number of others."""
    parts = [table(caption, header, rows[:most], numbers)]
    if len(rows) > most:
        parts.append(paragraph(f"and {len(rows) - most:,} more ({len(rows):,} in all)", class_="note"))
    return tag("div", *parts)


def first(items: Sequence[str], most: int) -> str:
    """The first few names, and the number of others."""
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more:,} more" if more > 0 else "")
