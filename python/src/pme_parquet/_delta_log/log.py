"""A copy of the log, in a private directory: what is searched and what `deltalake` reads are the same bytes.

Only regular files below `_delta_log` are copied, up to a limit, so nothing in the log leads a reader elsewhere. Anyone
who can write to the storage can write these files, so their JSON is bounded, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pme_parquet._display.words import size
from pme_parquet._storage import UnreadableError, is_checksums, strict_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pme_parquet._storage import Found, Storage

LOG = "_delta_log/"
# The last bytes of a Parquet file with an encrypted footer (specification §5.4).
ENCRYPTED_FOOTER = b"PARE"
MAX_FILE = 512 * 1024 * 1024
MAX_BYTES = 4 * 1024 * 1024 * 1024
MAX_LINE = 16 * 1024 * 1024
_STEP = 8 * 1024 * 1024
_COMMIT = re.compile(r"_delta_log/(\d{20})\.json")
_CHECKPOINT = re.compile(
    r"_delta_log/(\d{20})\.checkpoint(?:\.(?P<part>\d{10})\.(?P<parts>\d{10})|\.[\w-]+)?\.(?:parquet|json)"
)
_SIDECARS = f"{LOG}_sidecars/"
# JSON, of the last checkpoint and the last VACUUM.
_LAST = ("_last_checkpoint", "_last_vacuum_info")
_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)*")


@dataclass(slots=True)
class Log:
    """The copied log.

    Attributes:
        commits: version and file of each commit.
        checkpoints: versions with a checkpoint.
        whole: those of them with a checkpoint that has all parts, none of them encrypted.
        texts: copied files of JSON, by their path below the table, the oldest first.
        parquet: copied Parquet files that anyone can read.
        sealed: Parquet files with an encrypted footer. They are not copied to where `deltalake` looks.
    """

    commits: dict[int, str] = field(default_factory=dict)
    checkpoints: set[int] = field(default_factory=set)
    whole: set[int] = field(default_factory=set)
    texts: dict[str, Path] = field(default_factory=dict)
    parquet: dict[str, tuple[Found, Path]] = field(default_factory=dict)
    sealed: dict[str, Found] = field(default_factory=dict)

    def documents(self, unread: Callable[[str, str], None]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each document of JSON with its file. `unread` is called for what cannot be read."""
        for name, path in self.texts.items():
            for number, line in enumerate(_lines(path), start=1):
                try:
                    found = document(line) if line.strip() else None
                except UnreadableError as why:
                    unread(name, f"line {number} was not read: {why}")
                    continue
                if isinstance(found, dict):
                    yield name, found
                elif line.strip():
                    unread(name, f"line {number} was not read: it is not a JSON object")


def document(text: str | bytes) -> Any:  # noqa: ANN401 of JSON
    """The value of a JSON text.

    Raises:
        UnreadableError: it is not JSON, too long, too deep, or has a field twice.
    """
    if len(text) > MAX_LINE:
        raise UnreadableError(f"it has more than {MAX_LINE >> 20} MiB in one document")
    return strict_json(text)


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file; of a line that is too long, a part that is too long, as well."""
    with path.open("rb") as file:
        while rest := file.readline(MAX_LINE + 1):
            yield rest
            while not rest.endswith(b"\n") and (rest := file.readline(MAX_LINE)):
                pass


def copied(storage: Storage, found: Sequence[Found], directory: Path, unread: Callable[[str, str], None]) -> Log:
    """The log among the files of a table, copied below a directory; for what is not, `unread` is called."""
    log, total = Log(), 0
    for one in found:
        shown = one.slashed
        if not shown.startswith(LOG) or one.link:
            continue
        # A store of objects may have names that lead out of the directory.
        if not one.regular or not _NAME.fullmatch(shown) or {".", ".."}.intersection(shown.split("/")):
            unread(shown, "it is not a regular file of a log")
            continue
        total += one.bytes
        if one.bytes > MAX_FILE or total > MAX_BYTES:
            unread(shown, f"it is {size(one.bytes)} long, and the log {size(total)} so far: more than is read")
            continue
        try:
            known = _add(log, storage, one, directory / shown)
        except Exception as failed:  # noqa: BLE001 each storage has errors of its own
            unread(shown, f"the storage failed with {type(failed).__name__}")
        else:
            if not known:
                unread(shown, "it is not a file that a Delta log is known to have")
    _find_whole(log)
    if log.sealed:
        _hide_checkpoints(log, directory)
    return log


def _find_whole(log: Log) -> None:
    parts: dict[tuple[int, int], int] = {}
    for name in (*log.parquet, *log.texts):
        if found := _CHECKPOINT.fullmatch(name):
            key = int(found[1]), int(found["parts"] or 1)
            parts[key] = parts.get(key, 0) + 1
    log.whole = {version for (version, count), there in parts.items() if there >= count}


def _hide_checkpoints(log: Log, directory: Path) -> None:
    """Moves all checkpoints to where `deltalake` does not look: a readable one may have encrypted parts."""
    log.whole.clear()
    for name in (*log.parquet, *log.texts):
        if _CHECKPOINT.fullmatch(name) or name.startswith(_SIDECARS):
            to = directory / "hidden" / name
            to.parent.mkdir(parents=True, exist_ok=True)
            if name in log.texts:
                log.texts[name] = log.texts[name].rename(to)
            else:
                found, path = log.parquet[name]
                log.parquet[name] = found, path.rename(to)


def _add(log: Log, storage: Storage, one: Found, to: Path) -> bool:
    """Adds a file; false if it is of no known kind."""
    shown = one.slashed
    if commit := _COMMIT.fullmatch(shown):
        log.commits[int(commit[1])] = shown
    if checkpoint := _CHECKPOINT.fullmatch(shown):
        log.checkpoints.add(int(checkpoint[1]))
    if shown.endswith(".parquet"):
        if storage.read(one.path, max(0, one.bytes - len(ENCRYPTED_FOOTER)), one.bytes) == ENCRYPTED_FOOTER:
            log.sealed[shown] = one
        else:
            log.parquet[shown] = (one, _copy(storage, one, to))
        return True
    if one.name in _LAST or (shown.endswith((".json", ".crc")) and not one.name.startswith(".")):
        # `deltalake` must not look for the checkpoint that such a file names: it may be encrypted.
        log.texts[shown] = _copy(storage, one, to.with_name("last") / one.name if one.name in _LAST else to)
        return True
    return not one.bytes or is_checksums(storage, one)


def _copy(storage: Storage, one: Found, to: Path) -> Path:
    to.parent.mkdir(parents=True, exist_ok=True)
    with to.open("xb") as file:
        for start in range(0, one.bytes, _STEP):
            part = storage.read(one.path, start, min(start + _STEP, one.bytes))
            if not part:
                raise OSError("the file has become shorter")
            file.write(part)
    return to
