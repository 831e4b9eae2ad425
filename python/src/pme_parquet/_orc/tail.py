"""The tail of an ORC file: its postscript, its footer, and the stripes that the footer places.

The postscript says how long and how compressed the footer is; the footers of stripes say more of the parts of columns.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pme_parquet._orc.codecs import KINDS, MAX_BLOCK_BYTES, decompressed
from pme_parquet._orc.encryption import ENCRYPTION, MAX_LOCAL_KEY_BYTES, encryption_of
from pme_parquet._orc.types import MAX_COLUMNS, STATISTICS, TYPES, columns_of, statistics_names
from pme_parquet._orc.wire import (
    Budget,
    LongerError,
    MalformedError,
    Message,
    UnknownError,
    binaries,
    binary,
    long,
    messages,
    number,
    numbers,
    parse,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pme_parquet._orc.encryption import Encryption
    from pme_parquet._orc.types import OrcType

MAGIC = b"ORC"
# The last byte of a file is the length of its postscript.
_LENGTH_BYTES = 1
# Python takes too long for a longer one.
MAX_FOOTER_BYTES = 16 * 1024 * 1024
_DEFAULT_BLOCK_BYTES = 256 * 1024
_MAX_METADATA = 10_000
_MAX_STRIPES = 50_000
_MAX_STREAMS = 20 * MAX_COLUMNS
# In the footers of all stripes of a file: a minute's work. Eight hundred stripes of a thousand columns have as many.
_MAX_STRIPE_VALUES = 20_000_000
# To decompress so many bytes, and to pass over them, takes as long as a value.
_BYTES_OF_VALUE = 64
_BLOOM_FILTERS = {7, 8}
# Their lengths stand for parts that are elsewhere.
_PLACEHOLDERS = {9, 10}
_STRIPES = messages(
    "stripes",
    {
        1: long("offset"),
        2: long("index_length"),
        3: long("data_length"),
        4: long("footer_length"),
        5: long("rows"),
        7: binaries("encrypted_keys", MAX_COLUMNS, MAX_LOCAL_KEY_BYTES),
    },
    _MAX_STRIPES,
)
_STREAMS = messages("streams", {1: number("kind"), 2: number("column"), 3: long("length")}, _MAX_STREAMS)
_ENCODINGS = {1: number("kind"), 2: number("dictionary_size")}
_VARIANT = {1: _STREAMS, 2: messages("encodings", _ENCODINGS, MAX_COLUMNS)}
_STRIPE_FOOTER = {1: _STREAMS, 4: messages("variants", _VARIANT, MAX_COLUMNS)}
_POSTSCRIPT = {
    1: long("footer_length"),
    2: number("compression"),
    3: long("block_size"),
    4: numbers("version", 2),
    5: long("metadata_length"),
    6: number("writer_version"),
    7: long("statistics_length"),
    8000: binary("magic", len(MAGIC)),
}
_FOOTER = {
    3: _STRIPES,
    4: TYPES,
    5: messages("metadata", {1: text("name")}, _MAX_METADATA),
    6: long("rows"),
    7: STATISTICS,
    9: number("writer"),
    10: ENCRYPTION,
    12: text("software"),
}
_WRITERS = ("ORC Java", "ORC C++", "Presto", "Go", "Trino", "cuDF")


class TooLongError(Exception):
    """The footer has more bytes than Python can parse in a short time; the message is their number."""


@dataclass(frozen=True, slots=True)
class OrcTail:
    """What a file states about itself.

    Attributes:
        rows: number of rows.
        compression: as ORC names it: `ZLIB`.
        block: the most bytes of a compressed chunk.
        version: of the format: `0.12`.
        created_by: the writer with its version.
        writer_version: the number by which readers know the mistakes of writers.
        columns: all columns.
        stripes: all stripes.
        encryption: none if no column is encrypted.
        statistics: by column, which statistics everybody can read.
        bytes_on_disk: by column, the size that those statistics state.
        metadata: names of the metadata that writers add, which is readable.
    """

    rows: int
    compression: str
    block: int
    version: str
    created_by: str
    writer_version: int
    columns: tuple[OrcType, ...]
    stripes: tuple[Stripe, ...]
    encryption: Encryption | None
    statistics: tuple[tuple[str, ...], ...]
    bytes_on_disk: tuple[int, ...]
    metadata: tuple[str, ...]

    def parts(self, read: Callable[[int, int], bytes], most: int) -> Parts:
        """What the footers of all stripes state.

        Args:
            read: returns the bytes between two offsets.
            most: the most bytes of a footer, as for `read` below.
        """
        found = Parts(len(self.columns))
        roots = [variant.root.id for variant in self.encryption.variants] if self.encryption else []
        for stripe in self.stripes:
            if stripe.footer_bytes > most:
                raise LongerError(f"the footer of a stripe has {stripe.footer_bytes} bytes")
            stored = read(stripe.footer, stripe.footer + stripe.footer_bytes)
            found.add(decompressed(stored, self.compression, self.block, most), roots)
            if found.values > _MAX_STRIPE_VALUES:
                raise UnknownError(f"the footers of its stripes have more than {_MAX_STRIPE_VALUES} values together")
        return found


def ends_as_orc(end: bytes) -> bool:
    """Whether these are the last bytes of an ORC file."""
    return end[-len(MAGIC) - _LENGTH_BYTES : -_LENGTH_BYTES] == MAGIC


def read(length: int, last: Callable[[int], bytes], most: int) -> OrcTail:
    """Reads and checks the tail of a file that ends as ORC.

    Args:
        length: of the file, in bytes.
        last: returns so many of the last bytes of the file.
        most: the most bytes of the footer, stored and decompressed; up to `MAX_FOOTER_BYTES`.

    Raises:
        LongerError: the footer has more.
        MalformedError: the file is damaged.
        UnknownError: this version, or Python without a package, cannot read it.
        TooLongError: its footer is too long.
    """
    own = last(_LENGTH_BYTES)[0]
    if not len(MAGIC) <= own <= length - _LENGTH_BYTES:
        raise MalformedError(f"its postscript cannot be {own} bytes long in a file of {length} bytes")
    postscript = parse(last(own + _LENGTH_BYTES)[:-_LENGTH_BYTES], _POSTSCRIPT)
    footer = postscript.get("footer_length", 0)
    lengths = (footer, postscript.get("metadata_length", 0), postscript.get("statistics_length", 0))
    end = length - own - _LENGTH_BYTES - sum(lengths)
    if end < len(MAGIC) or not footer:
        shown = ", ".join(map(str, lengths))
        raise MalformedError(f"its footer and statistics cannot be {shown} bytes long in a file of {length} bytes")
    if footer > MAX_FOOTER_BYTES:
        raise TooLongError(str(footer))
    compression, block = _compression(postscript)
    if footer > most:
        raise LongerError(f"it has more than {most} bytes")
    stored = last(footer + own + _LENGTH_BYTES)[:footer]
    content = parse(decompressed(stored, compression, block, most), _FOOTER)
    return _tail(postscript, content, compression, block, end)


def _compression(postscript: Message) -> tuple[str, int]:
    kind = postscript.get("compression", 0)
    if kind >= len(KINDS):
        raise UnknownError(f"it is compressed by an unknown method, number {kind}")
    block = postscript.get("block_size", _DEFAULT_BLOCK_BYTES)
    if KINDS[kind] != "NONE" and not 0 < block <= MAX_BLOCK_BYTES:
        raise MalformedError(f"the block size of its compression is {block} bytes")
    return KINDS[kind], block


def _tail(postscript: Message, footer: Message, compression: str, block: int, end: int) -> OrcTail:
    columns = columns_of(footer["types"])
    encrypted = encryption_of(footer["encryption"], columns) if "encryption" in footer else None
    placed = _placed(footer["stripes"], end, len(encrypted.variants) if encrypted else 0)
    rows, counted = footer.get("rows", 0), sum(stripe.rows for stripe in placed)
    if rows != counted:
        raise MalformedError(f"it states {rows} rows, but its stripes have {counted}")
    if len(footer["statistics"]) not in {0, len(columns)}:
        count = len(footer["statistics"])
        raise MalformedError(f"it has {len(columns)} columns, but statistics of {count}")
    return OrcTail(
        rows=rows,
        compression=compression,
        block=block,
        version=".".join(map(str, postscript["version"])) or "0.11",
        created_by=_created_by(footer),
        writer_version=postscript.get("writer_version", 0),
        columns=columns,
        stripes=placed,
        encryption=encrypted,
        statistics=tuple(map(statistics_names, footer["statistics"])),
        bytes_on_disk=tuple(one.get("bytes_on_disk", 0) for one in footer["statistics"]),
        metadata=tuple(one.get("name", "") for one in footer["metadata"]),
    )


def _created_by(footer: Message) -> str:
    writer = footer.get("writer", 0)
    name = _WRITERS[writer] if writer < len(_WRITERS) else f"writer number {writer}"
    return f"{name} {footer['software']}" if "software" in footer else name


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
        columns: how many there are.
        values: how many values the footers have, and as many more as their bytes take time.
    """

    columns: int
    values: int = 0
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
        budget = Budget()
        found = parse(footer, _STRIPE_FOOTER, budget)
        self.values += budget.used + len(footer) // _BYTES_OF_VALUE
        self._streams(found["streams"], self.readable_bytes, self.readable_filters)
        if len(found["variants"]) != len(roots):
            count = len(found["variants"])
            raise MalformedError(f"the footer of a stripe has {count} encryption variants instead of {len(roots)}")
        for root, variant in zip(roots, found["variants"], strict=True):
            self._streams(variant["streams"], self.encrypted_bytes, self.encrypted_filters)
            for index, encoding in enumerate(variant["encodings"]):
                if encoding.get("dictionary_size"):
                    self.dictionaries.add(self._known(root + index))

    def _streams(self, streams: Sequence[Message], lengths: dict[int, int], filters: set[int]) -> None:
        for stream in streams:
            kind, column = stream.get("kind", 0), self._known(stream.get("column", 0))
            if kind not in _PLACEHOLDERS:
                lengths[column] += stream.get("length", 0)
            if kind in _BLOOM_FILTERS:
                filters.add(column)

    def _known(self, column: int) -> int:
        if column >= self.columns:
            raise MalformedError(f"the footer of a stripe names column {column}, which does not exist")
        return column


def _placed(found: Sequence[Message], end: int, variants: int) -> tuple[Stripe, ...]:
    """The stripes, which follow each other between the file's magic and its tail.

    Args:
        found: what the footer states.
        end: where the tail begins.
        variants: number of encryption variants.

    Raises:
        MalformedError: a stripe is not where it can be, or lacks keys.
    """
    placed = []
    at, keys = len(MAGIC), ()
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
