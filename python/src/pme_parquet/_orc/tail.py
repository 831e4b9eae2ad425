"""The tail of an ORC file: its postscript says how long and how compressed its footer is, and the footer the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pme_parquet._orc import encryption as encryption_
from pme_parquet._orc import statistics, stripes, types
from pme_parquet._orc.chunks import MAX_BLOCK_BYTES, decompressed
from pme_parquet._orc.codecs import KINDS
from pme_parquet._orc.stripes import Parts
from pme_parquet._orc.wire import (
    LongerError,
    MalformedError,
    Message,
    UnknownError,
    binary,
    messages,
    number,
    numbers,
    parse,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pme_parquet._orc.encryption import Encryption
    from pme_parquet._orc.stripes import Stripe
    from pme_parquet._orc.types import OrcType

MAGIC = b"ORC"
# The last byte of a file is the length of its postscript.
_LENGTH_BYTES = 1
# Python takes too long for a longer one.
MAX_FOOTER_BYTES = 16 * 1024 * 1024
_DEFAULT_BLOCK_BYTES = 256 * 1024
_MAX_METADATA = 10_000
_POSTSCRIPT = {
    1: number("footer_length"),
    2: number("compression"),
    3: number("block_size"),
    4: numbers("version", 2),
    5: number("metadata_length"),
    6: number("writer_version"),
    7: number("statistics_length"),
    8000: binary("magic", len(MAGIC)),
}
_FOOTER = {
    3: stripes.FIELD,
    4: types.FIELD,
    5: messages("metadata", {1: text("name")}, _MAX_METADATA),
    6: number("rows"),
    7: statistics.FIELD,
    9: number("writer"),
    10: encryption_.FIELD,
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
        found = Parts()
        roots = [variant.root.id for variant in self.encryption.variants] if self.encryption else []
        for stripe in self.stripes:
            if stripe.footer_bytes > most:
                raise LongerError(f"the footer of a stripe has {stripe.footer_bytes} bytes")
            stored = read(stripe.footer, stripe.footer + stripe.footer_bytes)
            found.add(decompressed(stored, self.compression, self.block, most), roots)
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
    if end < stripes.MAGIC_BYTES or not footer:
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
    columns = types.columns(footer["types"])
    encrypted = encryption_.encryption(footer["encryption"], columns) if "encryption" in footer else None
    placed = stripes.stripes(footer["stripes"], end, len(encrypted.variants) if encrypted else 0)
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
        statistics=tuple(map(statistics.names, footer["statistics"])),
        bytes_on_disk=tuple(one.get("bytes_on_disk", 0) for one in footer["statistics"]),
        metadata=tuple(one.get("name", "") for one in footer["metadata"]),
    )


def _created_by(footer: Message) -> str:
    writer = footer.get("writer", 0)
    name = _WRITERS[writer] if writer < len(_WRITERS) else f"writer number {writer}"
    return f"{name} {footer['software']}" if "software" in footer else name
