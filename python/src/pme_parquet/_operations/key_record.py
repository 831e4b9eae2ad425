"""The record of uses of master keys (`audit.file`): who used which key, and whether the record is whole."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import path_of
from pme_parquet._display.content import Line, Row, Showable, Shown, Table
from pme_parquet._display.words import number, printable
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pme_parquet._arguments import PathLike

_WHERE = "pme.key_record"
_HEADER = ("master key", "granted", "refused or failed", "last used", "by", "for")
_NO_LINE = "0" * 64
_SET_ASIDE = re.compile(r"\.\d{12,18}")


@dataclass(frozen=True, slots=True)
class KeyUse:
    """One decision of a KMS about a master key.

    Attributes:
        number: of its line in the record.
        time: in UTC, as ISO 8601.
        user: who runs the application.
        application: Spark's id of it.
        query: Spark's id of the query (`spark.sql.execution.id`); None outside of queries.
        purpose: `read`, `write`, `rotate`, `copy`, `verify`, `seal`, `inspect`, `try` or `erase`.
        table: directory or name of the table, if known.
        column: the column, if one alone needed the key.
        where: the file or job that needed the key first.
        kms: name of the KMS.
        master_key: name of the master key.
        action: `wrap`, `unwrap`, `rewrap`, `direct`, `sign`, `create` or `destroy`.
        keys: number of keys that were wrapped or unwrapped.
        result: `granted`, `refused`, `failed`, or `asked` before a key is destroyed.
        condition: why no key was given, as docs/errors.md names it.
        requests: ids of the calls in the KMS's own log.
    """

    number: int
    time: str
    user: str
    application: str
    query: str | None
    purpose: str
    table: str | None
    column: str | None
    where: str
    kms: str
    master_key: str
    action: str
    keys: int
    result: str
    condition: str | None
    requests: tuple[str, ...]


@dataclass(frozen=True)
class KeyRecord(Showable):
    """A record of uses of master keys. Print it, display it in a notebook, or use its attributes.

    Attributes:
        uses: in the order in which they were recorded.
        head: number and SHA-256 of the last line. Keep it elsewhere: `holds` of a later `key_record` finds out whether
            lines were cut off or replaced since.
        problems: what is wrong with the record, in sentences; empty if it is whole, as far as it can show that itself.
    """

    uses: tuple[KeyUse, ...]
    head: tuple[int, str]
    problems: tuple[str, ...] = ()

    @property
    def last_use(self) -> dict[str, KeyUse]:
        """The last granted use of each master key."""
        return {use.master_key: use for use in self.uses if use.result == "granted"}

    def to_dict(self) -> dict[str, Any]:
        """Everything, as for JSON."""
        return asdict(self)

    @property
    def _shown(self) -> Shown:
        keys = sorted({use.master_key for use in self.uses})
        title = f"{number(sum(use.result != 'asked' for use in self.uses), 'use')} of {number(len(keys), 'master key')}"
        tables = (Table(_HEADER, tuple(map(self._row, keys))),) if keys else ()
        return Shown(title, tables, tuple(Line(printable(problem), "red") for problem in self.problems))

    def _row(self, key: str) -> Row:
        own = [use for use in self.uses if use.master_key == key]
        granted = sum(use.result == "granted" for use in own)
        last = self.last_use.get(key, own[-1])
        return (
            printable(key),
            f"{granted:,}",
            f"{sum(use.result in ('refused', 'failed') for use in own):,}",
            last.time,
            printable(last.user),
            printable(f"{last.purpose} of {last.table or last.where}"),
        )


def key_record(path: PathLike, *, holds: tuple[int, str] | None = None) -> KeyRecord:
    """Read the record of uses of master keys that `audit.file` names, with its older files beside it.

    It checks that each line follows the one before it. It cannot see whether its last lines were cut off after the
    application had ended: for that give `holds`, or compare it with the log of the KMS by `requests`.

    Example:
        record = pme.key_record("/var/log/pme/keys.jsonl")
        print(record.last_use["pii"].time)

    Args:
        path: the record's file on this machine.
        holds: the `head` of an earlier `key_record`, which the record must still have.

    Raises:
        BadOptionError: there is no record there.
    """
    newest = Path(path_of(path, _WHERE))
    older = [file for file in newest.parent.glob("*") if _SET_ASIDE.fullmatch(file.name.removeprefix(newest.name))]
    files = [*sorted(older, key=lambda file: (len(file.name), file.name)), *([newest] if newest.is_file() else [])]
    if not files:
        message = (
            f"{_WHERE}: {newest} is no record of uses of keys: there is no such file. Give the path in audit.file."
        )
        raise BadOptionError(message)
    reading = _Reading(holds)
    for line in _lines(files):
        reading.take(line)
    return reading.record()


def _lines(files: Iterable[Path]) -> Iterator[bytes]:
    for file in files:
        with file.open("rb") as lines:
            yield from (line.rstrip(b"\n") for line in lines)


class _Reading:
    """Follows the chain of lines."""

    def __init__(self, holds: tuple[int, str] | None) -> None:
        self._holds = None if holds is None else tuple(holds)
        self._held = holds is None or holds[0] == 0
        self._uses: list[KeyUse] = []
        self._problems: list[str] = []
        self._head = (0, _NO_LINE)
        self._chain = _NO_LINE
        self._open: dict[str, int] = {}

    def take(self, line: bytes) -> None:
        from hashlib import sha256  # noqa: PLC0415 slow to import

        before, chain = self._head[0], self._chain
        self._chain = sha256(line).hexdigest()
        node = _parsed(line)
        if node is None:
            self._problems.append(f"What follows line {before} is no whole line: a writer was killed, or still writes.")
            return
        count = node["number"]
        if count != before + 1 or node.get("previous") != chain:
            self._problems.append(f"Line {count} does not follow line {before}: lines are missing or were changed.")
        self._head = (count, self._chain)
        self._held = self._held or self._head == self._holds
        self._note(count, node)

    def _note(self, count: int, node: dict[str, Any]) -> None:
        event = node.get("event")
        if event == "begin":
            self._open[str(node.get("writer"))] = count
        elif event == "end":
            self._open.pop(str(node.get("writer")), None)
        elif event == "missed":
            self._problems.append(f"Before line {count}, {node.get('uses')} uses could not be recorded (audit=try).")
        elif event == "use":
            self._uses.append(_use_of(node))
        else:
            self._problems.append(f"Line {count} is of a kind that this version does not know.")

    def record(self) -> KeyRecord:
        self._problems += [
            f"The process that began at line {begun} has no end: it still runs, was killed, or lines were cut off."
            for begun in self._open.values()
        ]
        if not self._held and self._holds is not None:
            self._problems.append(
                f"Line {self._holds[0]} is not the one that was there before: lines were replaced or cut."
            )
        return KeyRecord(tuple(self._uses), self._head, tuple(self._problems))


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        node = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_line = isinstance(node, dict) and isinstance(node.get("number"), int)
    return node if is_line and isinstance(node.get("requests", []), list) else None


def _use_of(node: dict[str, Any]) -> KeyUse:
    def text(name: str) -> str:
        return str(node.get(name) or "")

    def optional(name: str) -> str | None:
        return None if node.get(name) is None else str(node[name])

    keys = node.get("keys")
    return KeyUse(
        number=node["number"],
        time=text("time"),
        user=text("user"),
        application=text("application"),
        query=optional("query"),
        purpose=text("purpose"),
        table=optional("table"),
        column=optional("column"),
        where=text("where"),
        kms=text("kms"),
        master_key=text("master_key"),
        action=text("action"),
        keys=keys if isinstance(keys, int) else 0,
        result=text("result"),
        condition=optional("condition"),
        requests=tuple(map(str, node.get("requests", []))),
    )
