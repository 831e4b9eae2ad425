"""The stripes of an ORC file, and what the footer of each states about the parts of columns."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pme_parquet._orc.encryption import MAX_LOCAL_KEY_BYTES
from pme_parquet._orc.types import MAX_COLUMNS
from pme_parquet._orc.wire import MalformedError, Message, binaries, messages, number, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

MAGIC_BYTES = 3
MAX_STRIPES = 50_000
MAX_FOOTER_BYTES = 16 * 1024 * 1024
_MAX_STREAMS = 20 * MAX_COLUMNS
_BLOOM_FILTERS = {7, 8}
# Their lengths stand for parts that are elsewhere.
_PLACEHOLDERS = {9, 10}
FIELD = messages(
    "stripes",
    {
        1: number("offset"),
        2: number("index_length"),
        3: number("data_length"),
        4: number("footer_length"),
        5: number("rows"),
        7: binaries("encrypted_keys", MAX_COLUMNS, MAX_LOCAL_KEY_BYTES),
    },
    MAX_STRIPES,
)
_STREAMS = messages("streams", {1: number("kind"), 2: number("column"), 3: number("length")}, _MAX_STREAMS)
_ENCODINGS = {1: number("kind"), 2: number("dictionary_size")}
_VARIANT = {1: _STREAMS, 2: messages("encodings", _ENCODINGS, MAX_COLUMNS)}
_FOOTER = {1: _STREAMS, 4: messages("variants", _VARIANT, MAX_COLUMNS)}


@dataclass(frozen=True, slots=True)
class Stripe:
    """Where a stripe is.

    Attributes:
        footer: the offset of its footer.
        footer_bytes: the length of its footer.
        rows: number of rows.
        encrypted_keys: the encrypted local key of each variant; stripes mostly share those of the first.
    """

    footer: int
    footer_bytes: int
    rows: int
    encrypted_keys: tuple[bytes, ...]


@dataclass(slots=True)
class Parts:
    """What the footers of stripes state about columns, by their numbers.

    Attributes:
        encrypted_bytes: the size of the encrypted copies.
        readable_bytes: the size of what everybody can read: the data of columns that are not encrypted, else masks.
        dictionaries: encrypted columns with dictionaries, whose sizes are readable.
        encrypted_filters: encrypted columns with encrypted Bloom filters.
        readable_filters: columns with Bloom filters that everybody can read.
    """

    encrypted_bytes: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    readable_bytes: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    dictionaries: set[int] = field(default_factory=set)
    encrypted_filters: set[int] = field(default_factory=set)
    readable_filters: set[int] = field(default_factory=set)

    def add(self, footer: bytes, roots: Sequence[int]) -> None:
        """Adds the footer of one stripe.

        Args:
            footer: decompressed.
            roots: the number of the column of each variant.
        """
        found = parse(footer, _FOOTER)
        self._streams(found["streams"], self.readable_bytes, self.readable_filters)
        if len(found["variants"]) != len(roots):
            count = len(found["variants"])
            raise MalformedError(f"the footer of a stripe has {count} encryption variants instead of {len(roots)}")
        for root, variant in zip(roots, found["variants"], strict=True):
            self._streams(variant["streams"], self.encrypted_bytes, self.encrypted_filters)
            for index, encoding in enumerate(variant["encodings"]):
                if encoding.get("dictionary_size"):
                    self.dictionaries.add(root + index)

    def _streams(self, streams: Sequence[Message], lengths: dict[int, int], filters: set[int]) -> None:
        for stream in streams:
            kind, column = stream.get("kind", 0), stream.get("column", 0)
            if kind not in _PLACEHOLDERS:
                lengths[column] += stream.get("length", 0)
            if kind in _BLOOM_FILTERS:
                filters.add(column)


def stripes(found: Sequence[Message], end: int, variants: int) -> tuple[Stripe, ...]:
    """The stripes, which follow each other between the file's magic and its tail.

    Args:
        found: what the footer states.
        end: where the tail begins.
        variants: number of encryption variants.

    Raises:
        MalformedError: a stripe is not where it can be, or lacks keys.
    """
    placed = []
    at, keys = MAGIC_BYTES, ()
    for number_, one in enumerate(found):
        offset = one.get("offset", 0)
        lengths = [one.get(f"{part}_length", 0) for part in ("index", "data", "footer")]
        if offset < at or offset + sum(lengths) > end:
            raise MalformedError(
                f"stripe {number_} cannot have {', '.join(map(str, lengths))} bytes from {offset} on, where bytes {at} "
                f"to {end} are free"
            )
        if lengths[-1] > MAX_FOOTER_BYTES:
            raise MalformedError(f"the length of the footer of stripe {number_} is {lengths[-1]} bytes")
        keys = tuple(one["encrypted_keys"]) or keys
        if len(keys) != variants:
            raise MalformedError(f"stripe {number_} has {len(keys)} local keys, but there are {variants} variants")
        at = offset + sum(lengths)
        placed.append(Stripe(at - lengths[-1], lengths[-1], one.get("rows", 0), keys))
    return tuple(placed)
