"""Inspects one ORC file: its columns with their keys and masks, as its footers show them to anyone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pme_parquet._display.words import printable
from pme_parquet._inspect import material, problems
from pme_parquet._inspect.footers import LARGE, bytes_of
from pme_parquet._inspect.inspected import Column, Finding, InspectedFile, Key, OrcColumn, OrcFile
from pme_parquet._orc import masks, tail
from pme_parquet._orc.wire import LongerError, MalformedError, UnknownError
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pme_parquet._orc.encryption import Encryption, OrcKey, Variant
    from pme_parquet._orc.tail import OrcTail, Parts
    from pme_parquet._orc.types import OrcType
    from pme_parquet._storage import Found, Storage

_UNREADABLE = Key("unreadable")
# Most footers are smaller, and many of them may be in memory.
_SMALL_FOOTER_BYTES = 256 * 1024


def look_orc(storage: Storage, found: Found, end: bytes) -> InspectedFile:
    """Everything that an ORC file shows without a key.

    Args:
        storage: where it is.
        found: the file.
        end: its last bytes.
    """
    try:
        try:
            return _Orc(storage, found, end, _SMALL_FOOTER_BYTES).file()
        except LongerError:
            with LARGE:
                return _Orc(storage, found, end, tail.MAX_FOOTER_BYTES).file()
    except PmeError as error:
        problem = error
    except MalformedError as malformed:
        problem = problems.orc_damaged(found.shown, str(malformed))
    except UnknownError as unknown:
        problem = problems.orc_unknown(found.shown, str(unknown))
    except tail.TooLongError as long:
        problem = problems.too_long(found.shown, int(str(long)), tail.MAX_FOOTER_BYTES)
    return InspectedFile(found.shown, found.bytes, findings=(_finding(found, problem),))


def _finding(found: Found, problem: PmeError) -> Finding:
    return Finding(found.shown, problem.condition, printable(problem.message))


class _Orc:
    """An ORC file, and what is wrong with its keys."""

    def __init__(self, storage: Storage, found: Found, end: bytes, most: int) -> None:
        self._storage = storage
        self._found = found
        self._end = end
        self._most = most
        self._findings: list[Finding] = []

    def file(self) -> InspectedFile:
        length = self._found.bytes
        read = tail.read(length, lambda count: self._bytes(length - count, length), self._most)
        encryption = read.encryption
        leaves = [column for column in read.columns if column.is_leaf]
        if encryption is None or not encryption.variants:
            sizes = read.bytes_on_disk
            return self._made(read, tuple(_column(one, None, sizes[one.id] if sizes else 0) for one in leaves))
        parts = read.parts(self._bytes, self._most)
        # Stripes mostly share the keys of the first, and then they share the tuple of them.
        of_stripes = list({id(one.encrypted_keys): one.encrypted_keys for one in read.stripes}.values())
        keys = {
            id(variant): self._key(variant, [one[number] for one in of_stripes])
            for number, variant in enumerate(encryption.variants)
        }
        columns, encrypted = [], []
        for column in leaves:
            own = [keys[id(variant)] for variant in encryption.of(column)]
            sizes_ = parts.encrypted_bytes if own else parts.readable_bytes
            columns.append(_column(column, own[0] if own else None, sizes_.get(column.id, 0)))
            if own:
                encrypted.append(_encrypted(column, own, encryption, read, parts))
        return self._made(read, tuple(columns), tuple(encrypted), tuple(dict.fromkeys(keys.values())))

    def _made(
        self,
        read: OrcTail,
        columns: tuple[Column, ...],
        encrypted: tuple[OrcColumn, ...] = (),
        keys: tuple[Key, ...] = (),
    ) -> InspectedFile:
        encryption = read.encryption if keys else None
        variants = encryption.variants if encryption else ()
        return InspectedFile(
            self._found.shown,
            self._found.bytes,
            footer="unsigned" if variants else "plaintext",
            algorithm=", ".join(sorted({variant.key.algorithm for variant in variants})) or None,
            columns=columns,
            column_keys=keys,
            rows=read.rows,
            row_groups=len(read.stripes),
            created_by=read.created_by,
            findings=tuple(self._findings),
            orc=OrcFile(
                version=read.version,
                compression=read.compression,
                writer_version=read.writer_version,
                key_provider=encryption.provider if encryption else None,
                variants=len(variants),
                encrypted=encrypted,
                types={".".join(column.names): column.type for column in read.columns[1:]},
                metadata=read.metadata,
            ),
        )

    def _key(self, variant: Variant, of_stripes: list[bytes]) -> Key:
        """The key of a variant. That of its statistics and those of its stripes must be of one kind."""
        own = dict.fromkeys((variant.encrypted_key, *of_stripes))
        where = f"{self._found.shown}: column '{'.'.join(variant.root.names)}'"
        try:
            found = {_key(encrypted, variant.key) for encrypted in own}
        except material.UnusableError as unusable:
            return self._unusable(where, str(unusable))
        if len({one.management for one in found}) > 1:
            return self._unusable(where, "its stripes have local keys of different kinds")
        return _key(variant.encrypted_key, variant.key)

    def _unusable(self, where: str, why: str) -> Key:
        self._findings.append(_finding(self._found, problems.key_metadata(where, why)))
        return _UNREADABLE

    def _bytes(self, start: int, end: int) -> bytes:
        known = self._found.bytes - len(self._end)
        if start >= known:
            return self._end[start - known : end - known]
        if end > known:
            return bytes_of(self._storage, self._found, start, known) + self._end[: end - known]
        return bytes_of(self._storage, self._found, start, end)


def _key(encrypted: bytes, key: OrcKey) -> Key:
    """What an encrypted local key shows: key material of ours, or only that it is as long as the algorithm needs."""
    if len(encrypted) == key.local_key_bytes:
        return Key(
            "derived",
            master_key=key.name,
            master_key_version=str(key.version),
            data_key_bits=8 * key.local_key_bytes,
        )
    found = material.of_metadata(encrypted)
    if not isinstance(found, Key) or found.management != "envelope":
        raise material.UnusableError(f"its local key is neither {key.local_key_bytes} bytes long nor key material")
    if found.master_key not in key.ids:
        named = f"{key.name}@{key.version}"
        raise material.UnusableError(f"its key material names key '{found.master_key}', and the file names '{named}'")
    return found


def _column(column: OrcType, key: Key | None, size: int) -> Column:
    return Column(".".join(column.orc_names), "column key" if key else None, key, size, ".".join(column.names))


def _encrypted(column: OrcType, keys: list[Key], encryption: Encryption, read: OrcTail, parts: Parts) -> OrcColumn:
    variant = encryption.of(column)[0]
    mask = masks.mask_of(column, variant, encryption)
    return OrcColumn(
        name=".".join(column.names),
        type=column.type,
        keys=tuple(dict.fromkeys(keys)),
        mask=str(mask) if mask else None,
        readable=tuple(_readable(column, variant, encryption, read, parts)),
        statistics=read.statistics[column.id] if read.statistics else (),
        mask_bytes=parts.readable_bytes.get(column.id, 0),
        bloom_filter=_bloom_filter(column, parts),
    )


def _readable(column: OrcType, variant: Variant, encryption: Encryption, read: OrcTail, parts: Parts) -> Iterator[str]:
    yield from masks.readable(column, variant, encryption, read.columns)
    if column.id in parts.dictionaries:
        yield "the number of different values in each stripe"
    if column.id in parts.readable_filters:
        # ORC's own writer stores that of the values, next to that of the mask.
        yield "a Bloom filter, possibly of the values themselves: whoever guesses a value can test it"


def _bloom_filter(column: OrcType, parts: Parts) -> Literal["encrypted", "readable"] | None:
    if column.id in parts.readable_filters:
        return "readable"
    return "encrypted" if column.id in parts.encrypted_filters else None
