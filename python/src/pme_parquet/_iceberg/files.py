"""What one file of a table is, by its first bytes, and whether values in it are readable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pme_parquet._checks.modules import is_modules
from pme_parquet._iceberg import manifests, metadata
from pme_parquet._iceberg.avro import MAX_HEADER
from pme_parquet._inspect.look import look
from pme_parquet._logs.bounds import UnreadableError
from pme_parquet._logs.sums import is_sums
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from pme_parquet._iceberg.manifests import Manifest, Manifests
    from pme_parquet._storage import Found, WholeStorage

_MAGIC = 4
_AVRO, _STREAM, _PUFFIN, _ORC = b"Obj\x01", b"AGS1", b"PFA1", b"ORC"
_PARQUET = (b"PAR1", b"PARE")
# It has the number of a version and nothing else.
_HINT = "version-hint.text"

What = Literal[
    "data", "encrypted", "manifest", "manifest list", "statistics or deletes", "metadata", "other", "unknown"
]


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of a table.

    Attributes:
        found: the file.
        file: its path below the table, with slashes.
        what: what it is.
        manifest: what it shows, if it is Avro in plaintext.
        plain: whether values in it are readable; None if that was not looked at.
        problem: why it could not be read.
    """

    found: Found
    file: str
    what: What
    manifest: Manifest | None = None
    plain: bool | None = False
    problem: str = ""


def slashed(found: Found) -> str:
    """The path of a file below the table."""
    return found.shown.replace("\\", "/")


def look_at(files: WholeStorage, found: Found, reading: Manifests) -> TableFile:
    """What a file shows to anyone."""
    file = slashed(found)
    try:
        return _looked(files, found, file, reading)
    except UnreadableError as why:
        return TableFile(found, file, "unknown", problem=str(why))
    except Exception as failed:  # noqa: BLE001 whoever wrote a file must not be able to stop a check
        return TableFile(found, file, "unknown", problem=f"{type(failed).__name__} while it was read")


def _looked(files: WholeStorage, found: Found, file: str, reading: Manifests) -> TableFile:
    begin = files.read(found.path, 0, _MAGIC)
    if begin in _PARQUET or begin.startswith(_ORC):
        return _data(files, found, file)
    if begin == _AVRO:
        return _avro(files, found, file, reading)
    if begin == _PUFFIN:
        return TableFile(found, file, "statistics or deletes", plain=True)
    if begin == _STREAM:
        return TableFile(found, file, "encrypted")
    if metadata.number_of(file) is not None:
        return TableFile(found, file, "metadata")
    known = found.name == _HINT or is_sums(files, found)
    return TableFile(found, file, "other" if known else "unknown", problem="" if known else _STRANGE)


_STRANGE = "it is no file of a kind that Iceberg writes"


def _avro(files: WholeStorage, found: Found, file: str, reading: Manifests) -> TableFile:
    def whole() -> bytes:
        if found.bytes > manifests.MAX_BYTES:
            raise UnreadableError("it is too long to be read")
        return files.read(found.path, 0, found.bytes)

    made = reading.read(files.read(found.path, 0, min(found.bytes, MAX_HEADER)), whole)
    return TableFile(found, file, made.kind, made, plain=True)


def _data(files: WholeStorage, found: Found, file: str) -> TableFile:
    """A file of Parquet or ORC."""
    facts = look(files, found)
    if facts.footer == "encrypted":
        try:
            whole = is_modules(files, found)
        except PmeError:
            whole = None
        return TableFile(found, file, "encrypted" if whole else "data", plain=None if whole is None else not whole)
    if facts.columns is None:
        why = next((finding.condition for finding in facts.findings), "") or "its footer cannot be read"
        return TableFile(found, file, "unknown", problem=why)
    return TableFile(found, file, "data", plain=not all(column.encrypted_with for column in facts.columns))
