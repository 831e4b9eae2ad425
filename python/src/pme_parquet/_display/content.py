"""What a result shows: a title, tables and lines. `forms` turns it into text, HTML and rich's tables.

The forms do not change texts. Code that makes a `Shown` from texts of a file or a user must apply `words.printable`.
"""

from __future__ import annotations

from dataclasses import dataclass

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below a header; a list of single lines has none.

    Attributes:
        header: a title for each column.
        rows: as long as the header, or each other.
        styles: rich's style of each row on a terminal; empty, or one for each row.
        free: whether its last column takes the room it wants, as where it has what is copied to a shell.
        paths: whether the last column has paths. Where there is no room for them they stand below the column before.
    """

    header: Row
    rows: tuple[Row, ...]
    styles: Row = ()
    paths: bool = False
    free: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence, and rich's style of it on a terminal."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What every form shows, from top to bottom."""

    title: str
    tables: tuple[Table, ...] = ()
    lines: tuple[Line, ...] = ()


def how_reached(storage: str) -> tuple[Line, ...]:
    """A line that says how a storage was reached; none for local files."""
    return (Line(f"storage: {storage}"),) if storage else ()
