"""The files of a table that is checked: their list, and whether one consists of encrypted modules (specification §5.1).

Each module begins with its length, so they can be followed without a key, from the magic bytes to the footer. A
writer's bytes of another kind between them, such as a plaintext column, break the chain. This shows mistakes; someone
who wants to hide plaintext can put a length before it.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from pme_parquet._inspect.footers import LENGTH_BYTES, MAGIC_BYTES, NONCE_BYTES, TAIL_BYTES, bytes_of, footer_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pme_parquet._checks.findings import FoundOnce
    from pme_parquet._storage import Found, Storage, WholeStorage

# Small modules follow each other, so a read gets many of them.
_READ = 64 * 1024
# Of one file. A larger one is a note that it was not looked at.
MAX_READS = 20_000
# parquet-java fills the rest of a block with zeros, so that a row group begins in the next one.
_BLOCK = 4096
MAX_FILES = 1_000_000


def slashed(found: Found) -> str:
    """The path of a file below the table."""
    return found.shown.replace("\\", "/")


def listed_files(files: WholeStorage) -> list[Found]:
    """Everything below the table, and if that is more than `MAX_FILES`, one more."""
    return list(islice(files.everything(), MAX_FILES + 1))


def regular_files(listed: Sequence[Found], findings: FoundOnce[Any]) -> list[Found]:
    """The files among them that can be looked at; the others are findings."""
    if len(listed) > MAX_FILES:
        findings.unread("", f"there are more than {MAX_FILES:,} files; the others were not looked at")
    for one in listed[:MAX_FILES]:
        if not one.regular:
            what = "it is a symbolic link; it was not followed" if one.link else "it is not a file that can be read"
            findings.unread(slashed(one), what)
    return [one for one in listed[:MAX_FILES] if one.regular and one.bytes]


def counted(kinds: Iterable[str]) -> dict[str, int]:
    """The numbers of files by what they are."""
    return dict(sorted(Counter(kinds).items()))


def is_modules(storage: Storage, found: Found) -> bool | None:
    """Whether the modules of a file follow each other up to its footer; None if there are too many to look at.

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
