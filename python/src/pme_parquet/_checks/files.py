"""The files of a table that is checked: their list, what a file of Parquet or ORC shows, and documents with a limit."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from pme_parquet._inspect.footers import (
    LENGTH_BYTES,
    MAGIC_BYTES,
    NONCE_BYTES,
    TAIL_BYTES,
    bytes_of,
    file_metadata,
    footer_of,
)
from pme_parquet._inspect.look import look
from pme_parquet._inspect.thrift import MalformedError
from pme_parquet._storage import UnreadableError
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pme_parquet._checks.results import Findings
    from pme_parquet._inspect.footers import FileMetaData
    from pme_parquet._inspect.inspected import Footer
    from pme_parquet._storage import Found, Storage, WholeStorage

# Small modules follow each other, so a read gets many of them.
_READ = 64 * 1024
# Of one file. A larger one is a note that it was not looked at.
MAX_READS = 20_000
# parquet-java fills the rest of a block with zeros, so that a row group begins in the next one.
_BLOCK = 4096
MAX_FILES = 1_000_000
_UNKNOWN = "its footer is encrypted; whether all before it is was not looked at"
_THREADS = 16
Read = TypeVar("Read")


def listed_files(files: WholeStorage) -> list[Found]:
    """Everything below the table, and if that is more than `MAX_FILES`, one more."""
    return list(islice(files.everything(), MAX_FILES + 1))


def regular_files(listed: Sequence[Found], findings: Findings) -> list[Found]:
    """The files among them that can be looked at; the others are findings."""
    if len(listed) > MAX_FILES:
        findings.unread("", f"there are more than {MAX_FILES:,} files; the others were not looked at")
    for one in listed[:MAX_FILES]:
        if not one.regular:
            what = "it is a symbolic link; it was not followed" if one.link else "it is not a file that can be read"
            findings.unread(one.slashed, what)
    return [one for one in listed[:MAX_FILES] if one.regular and one.bytes]


def partition_names(path: str) -> Iterator[str]:
    """The names of a path's directories that have values, as `ssn=123`."""
    for part in path.split("/")[:-1]:
        name, equals, _ = part.partition("=")
        if equals:
            yield unquote(name)


def attempt(found: Found, read: Callable[[], Read], findings: Findings) -> Read | None:
    """What is read of a file; None if it cannot be read, which is a finding."""
    try:
        return read()
    except UnreadableError as why:
        findings.unread(found.slashed, str(why))
    except Exception as failed:  # noqa: BLE001 each storage has errors of its own, and no file may stop a check
        findings.unread(found.slashed, f"{type(failed).__name__} while it was read")
    return None


def read_document(
    files: Storage, found: Found, most: int, understood: Callable[[bytes], Read], findings: Findings
) -> Read | None:
    """What is understood of a document; None if it is longer than `most` bytes or not understood, with a finding."""

    def read() -> Read:
        if found.bytes > most:
            raise UnreadableError("it is too long to be read")
        return understood(files.read(found.path, 0, found.bytes))

    return attempt(found, read, findings)


def look_at_files(found: Iterable[Found], look: Callable[[Found], Read], findings: Findings) -> list[Read]:
    """What each file shows, several read at a time; those that cannot be read are findings."""
    with ThreadPoolExecutor(_THREADS) as threads:
        looked = threads.map(lambda one: attempt(one, lambda: look(one), findings), found)
        return [one for one in looked if one is not None]


def counted(kinds: Iterable[str], total: int) -> dict[str, int]:
    """The numbers of files by what they are; of the other ones that is unknown."""
    counts = Counter(kinds)
    counts["unknown"] = total - counts.total()
    return dict(sorted((+counts).items()))


@dataclass(frozen=True, slots=True)
class Columns:
    """What the footer of a file shows of its columns to anyone.

    Attributes:
        footer: as of `pme.inspect`; None if it cannot be read.
        plain: the columns that anyone can read.
        sealed: the columns that are encrypted.
        whole: whether everything in a file with an encrypted footer is in encrypted modules; None if not looked at.
        problem: the condition or reason why not everything about them is known.
    """

    footer: Footer | None = None
    plain: frozenset[str] = frozenset()
    sealed: frozenset[str] = frozenset()
    whole: bool | None = None
    problem: str = ""


def columns_of(storage: Storage, found: Found) -> Columns:
    """What a file of Parquet or ORC shows of its columns."""
    facts = look(storage, found)
    if facts.footer == "encrypted":
        try:
            whole = is_modules(storage, found)
        except PmeError:
            whole = None
        return Columns(facts.footer, whole=whole, problem=_UNKNOWN if whole is None else "")
    if facts.columns is None:
        why = next((finding.condition for finding in facts.findings), "") or "its footer cannot be read"
        return Columns(problem=why)
    plain = frozenset(column.name for column in facts.columns if not column.encrypted_with)
    sealed = frozenset(column.name for column in facts.columns if column.encrypted_with)
    return Columns(facts.footer, plain, sealed)


def known_columns(storage: Storage, found: Found) -> Columns:
    """The same.

    Raises:
        UnreadableError: not everything about them is known.
    """
    columns = columns_of(storage, found)
    if columns.problem:
        raise UnreadableError(columns.problem)
    return columns


def readable_footer(storage: Storage, found: Found) -> FileMetaData | None:
    """The readable footer of a Parquet file; None if it cannot be read."""
    try:
        with footer_of(storage, found) as (_, footer):
            return file_metadata(footer, with_details=True)
    except (PmeError, MalformedError):
        return None


def is_modules(storage: Storage, found: Found) -> bool | None:
    """Whether a file consists of encrypted modules up to its footer; None if there are too many to look at.

    Each module begins with its length (specification §5.1), so they can be followed without a key, from the magic bytes
    to the footer. A writer's bytes of another kind between them, such as a plaintext column, break the chain. This
    shows mistakes; someone who wants to hide plaintext can put a length before it.

    Raises:
        PmeError: the storage failed.
    """
    with footer_of(storage, found) as (_, footer):
        end = found.bytes - TAIL_BYTES - len(footer)
    at = MAGIC_BYTES
    for _ in range(MAX_READS):
        if at >= end:
            return at == end
        after = _followed(bytes_of(storage, found, at, min(at + _READ, end)), at, end)
        if after is None or after == at:
            return False
        at = after
    return None


def _followed(content: bytes, start: int, end: int) -> int | None:
    """Where the first module begins that is not in the content; None if something else is there."""
    at = start
    while len(content) - (at - start) >= LENGTH_BYTES:
        module = int.from_bytes(content[at - start : at - start + LENGTH_BYTES], "little")
        if module == 0:
            at += _zeros(content[at - start :], at)
        elif NONCE_BYTES < module <= end - at - LENGTH_BYTES:
            at += LENGTH_BYTES + module
        else:
            return None
    return at


def _zeros(content: bytes, at: int) -> int:
    """The number of zeros. The next module's length may begin with some, but at the beginning of a block."""
    count = len(content) - len(content.lstrip(b"\x00"))
    return max(count - (at + count) % _BLOCK, LENGTH_BYTES) if (at + count) % _BLOCK < LENGTH_BYTES else count
