"""The layout of one file: parts that follow one another from its first byte to its last."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from pme_parquet._inspect.footers import LENGTH_BYTES
from pme_parquet._inspect.key_words import short
from pme_parquet._inspect.places import ends
from pme_parquet._inspect.tails import MAGIC_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pme_parquet._inspect.inspected import InspectedFile
    from pme_parquet._inspect.places import Ends
    from pme_parquet._storage import Found, Storage

State = Literal["encrypted", "plaintext", "hidden", "frame"]
HIDDEN_BODY = "pages, indexes and filters"
CRYPTO_METADATA = "algorithm and id of the footer key"
UNKNOWN = "unknown"


class Part(NamedTuple):
    """Some bytes of a file.

    Attributes:
        kind: what they are, by the specification's names for modules.
        offset: where they begin.
        length: their number.
        state: `encrypted`; `plaintext`; `hidden`: unknown without keys; or `frame`: the first and last bytes, the
            same in every Parquet file.
        key: the master key's id, if they are encrypted.
        row_group: its number, if they belong to a column chunk.
        column: as above.
        page: its number among the data pages of its column chunk.
    """

    kind: str
    offset: int
    length: int
    state: State
    key: str | None = None
    row_group: int | None = None
    column: str | None = None
    page: int | None = None

    @property
    def end(self) -> int:
        """Where the next part begins."""
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class Layout:
    """One file, an example of others with the same encryption.

    Attributes:
        file: its path below the table.
        bytes: its size.
        alike: number of files with the same encryption, including this one.
        parts: all of the file.
        note: why less is known than keys would show; empty if all is known.
    """

    file: str
    bytes: int
    alike: int
    parts: tuple[Part, ...]
    note: str = ""

    def of_columns(self) -> dict[tuple[str, str | None, State], int]:
        """The bytes of each column, with its key."""
        found: dict[tuple[str, str | None, State], int] = defaultdict(int)
        for part in self.parts:
            if part.column is not None:
                found[part.column, part.key, part.state] += part.length
        return dict(found)


def without_keys(storage: Storage, found: Found, file: InspectedFile) -> list[Part]:
    """The parts that the end of a file shows.

    Raises:
        PmeError: the storage failed.
        MalformedError: it is not a footer.
    """
    footer_place = ends(storage, found)
    tail = tail_of(footer_place, file)
    if footer_place.encrypted:
        body = Part(HIDDEN_BODY, MAGIC_BYTES, footer_place.at - MAGIC_BYTES, "hidden")
        return [*tail, body]
    keys = {column.name: (column.encrypted_with, column.key) for column in file.columns or ()}
    parts = []
    for place in footer_place.places:
        encrypted, key = keys.get(place.column, (None, None))
        name = short(key) if encrypted and key else None
        state: State = "encrypted" if encrypted else "plaintext"
        parts.append(Part(place.kind, place.offset, place.length, state, name, place.row_group, place.column))
    return [*tail, *parts]


def tail_of(footer_place: Ends, file: InspectedFile) -> Iterator[Part]:
    """The first bytes of a file and everything after its last index."""
    key = short(file.footer_key) if file.footer_key else None
    sealed = footer_place.at + footer_place.readable
    yield Part("magic bytes", 0, MAGIC_BYTES, "frame")
    if footer_place.encrypted:
        yield Part(CRYPTO_METADATA, footer_place.at, footer_place.readable, "plaintext")
        yield Part("footer", sealed, footer_place.sealed, "encrypted", key)
    else:
        signed = f", signed with key {key}" if key else ""
        yield Part(f"footer, readable{signed}", footer_place.at, footer_place.readable, "plaintext")
        yield Part("signature of the footer", sealed, footer_place.sealed, "frame")
    yield Part(
        "length of the footer, and magic bytes", sealed + footer_place.sealed, LENGTH_BYTES + MAGIC_BYTES, "frame"
    )


def complete(parts: Iterable[Part], size: int) -> tuple[Part, ...]:
    """The parts in order, with others between them, so that together they are the whole file.

    The contents of a file may contradict themselves. Of two parts in one place the second is left out.
    """
    return tuple(_complete(sorted(parts, key=lambda part: (part.offset, part.length)), size))


def _complete(parts: Sequence[Part], size: int) -> Iterator[Part]:
    at = 0
    for part in parts:
        if part.length <= 0 or part.offset < at or part.end > size:
            continue
        if part.offset > at:
            yield Part(UNKNOWN, at, part.offset - at, "hidden")
        yield part
        at = part.end
    if at < size:
        yield Part(UNKNOWN, at, size - at, "hidden")
