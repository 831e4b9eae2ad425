"""Inspects one file: what its footer shows to anyone, and what is wrong with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pme_parquet._display.words import printable
from pme_parquet._inspect import footers, problems
from pme_parquet._inspect.footers import footer_of, last_bytes
from pme_parquet._inspect.inspected import Column, Finding, InspectedFile
from pme_parquet._inspect.material import FileKeys
from pme_parquet._inspect.orc import look_orc
from pme_parquet._inspect.thrift import MalformedError
from pme_parquet._orc.tail import ends_as_orc
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from pme_parquet._storage import Found, Storage

# The algorithm's fields are not authenticated, and the AAD joins prefix and unique part without a delimiter. A fixed
# length keeps the boundary between them where the writer put it. The connector requires it, too.
AAD_FILE_UNIQUE_BYTES = 8


def look(storage: Storage, found: Found) -> InspectedFile:
    """Everything that a file shows without a key."""
    look = _Look(storage, found)
    try:
        end = last_bytes(storage, found)
        if ends_as_orc(end):
            return look_orc(storage, found, end)
        with footer_of(storage, found, end) as (encrypted, footer):
            if encrypted:
                look.encrypted(footer)
            else:
                look.readable(footer)
    except PmeError as error:
        look.finding(error)
    except MalformedError as malformed:
        look.finding(problems.damaged(found.shown, str(malformed)))
    return replace(look.file, findings=tuple(look.findings))


class _Look:
    """What is known of a file so far; it is kept if a later part cannot be read."""

    def __init__(self, storage: Storage, found: Found) -> None:
        self.file = InspectedFile(found.shown, found.bytes)
        self.findings: list[Finding] = []
        self._keys = FileKeys(storage, found, self.finding)

    def finding(self, error: PmeError) -> None:
        self.findings.append(Finding(self.file.file, error.condition, printable(error.message)))

    def encrypted(self, footer: bytes) -> None:
        algorithm, key_metadata = footers.file_crypto_metadata(footer)
        self._algorithm("encrypted", algorithm)
        self.file = replace(self.file, footer_key=self._keys.key(key_metadata, "footer"))
        self.file = replace(self.file, column_keys=self._keys.others)

    def readable(self, footer: bytes) -> None:
        metadata = footers.file_metadata(footer)
        writer = metadata.created_by
        self.file = replace(
            self.file,
            footer="plaintext",
            rows=metadata.rows,
            row_groups=metadata.row_groups,
            created_by=None if writer is None else writer.decode("utf-8", "backslashreplace"),
        )
        if metadata.algorithm is not None:
            self._algorithm("signed", metadata.algorithm)
            self.file = replace(self.file, footer_key=self._keys.key(metadata.key_metadata, "footer"))
        if not metadata.signed and (metadata.algorithm or metadata.has_encrypted_columns):
            self.finding(problems.no_signature(self.file.file))
        columns = tuple(self._column(path, chunks) for path, chunks in metadata.columns.items())
        own = dict.fromkeys(column.key for column in columns if column.key and column.encrypted_with == "column key")
        self.file = replace(self.file, columns=columns, column_keys=tuple(own))

    def _column(self, path: str, chunks: footers.ColumnChunks) -> Column:
        key = None
        if chunks.encrypted_with == "footer key":
            key = self.file.footer_key
        elif chunks.encrypted_with == "column key":
            key = self._keys.key(chunks.key_metadata, f"column '{chunks.name}'")
        return Column(path, chunks.encrypted_with, key, chunks.compressed_bytes, chunks.name)

    def _algorithm(self, footer: Literal["encrypted", "signed"], algorithm: footers.Algorithm) -> None:
        prefix = algorithm.aad_prefix
        self.file = replace(
            self.file,
            footer=footer,
            algorithm=algorithm.name,
            aad_prefix="required" if algorithm.supply_aad_prefix else "none" if prefix is None else "stored",
            aad_prefix_value=None if prefix is None else _text_or_hex(prefix),
        )
        length = len(algorithm.aad_file_unique)
        if length != AAD_FILE_UNIQUE_BYTES:
            why = f"aad_file_unique is {length} bytes long instead of {AAD_FILE_UNIQUE_BYTES}"
            self.finding(problems.aad_prefix(self.file.file, why))
        if prefix is not None and algorithm.supply_aad_prefix:
            why = "the file contains a prefix, but states that it does not"
            self.finding(problems.aad_prefix(self.file.file, why))


def _text_or_hex(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return f"0x{value.hex()}"
    return text if text.isprintable() else f"0x{value.hex()}"
