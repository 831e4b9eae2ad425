"""What is shown of ORC files beside what Parquet files have, too: above all, what their masks leave readable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._display.content import Line, Table
from pme_parquet._display.words import number, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pme_parquet._inspect.inspected import InspectedFile, OrcColumn, OrcFile

# Columns of the table.
_MOST = 100
AUTHENTICATES_NOTHING = (
    "ORC encrypts with AES-CTR, which authenticates nothing: whoever can write to the storage can change data "
    "unnoticed."
)
READABLE = (
    "Everyone can read the names and types of all columns, the numbers of rows, the sizes of encrypted columns, the "
    "masks, and the statistics of the masks."
)


def fields(orc: OrcFile) -> Iterator[tuple[str, str]]:
    """The lines of a single file."""
    yield "format", f"ORC {orc.version}, compression {orc.compression}, writer version {orc.writer_version}"
    if orc.key_provider is not None:
        yield "encryption", f"{number(orc.variants, 'encrypted variant')}, key provider {orc.key_provider}"
    yield "metadata", ", ".join(orc.metadata)


def masks(orc: OrcFile) -> Table:
    """The encrypted columns, each with its mask and what that leaves readable."""
    header = ("encrypted column", "mask", "readable without a key", "readable statistics")
    rows = [
        tuple(map(printable, (one.name, mask(one), readable(one), statistics(one)))) for one in orc.encrypted[:_MOST]
    ]
    more = len(orc.encrypted) - _MOST
    if more > 0:
        rows.append((f"and {more:,} more", "", "", ""))
    return Table(header, tuple(rows))


def mask(column: OrcColumn) -> str:
    """The mask in words."""
    return column.mask or "not stated"


def readable(column: OrcColumn) -> str:
    """What can be learnt of a column, in words."""
    return "; ".join(column.readable) or "nothing of its values"


def statistics(column: OrcColumn) -> str:
    """Which statistics of the mask are in the footer."""
    return ", ".join(column.statistics) or "none"


def about(files: Sequence[InspectedFile]) -> Iterator[Line]:
    """What is true of all encrypted ORC files."""
    if any(file.orc and file.encrypted for file in files):
        yield Line(READABLE)
        yield Line(AUTHENTICATES_NOTHING, "yellow")
