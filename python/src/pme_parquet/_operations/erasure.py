"""Erasure: rows become unreadable for good when the master key of their files is destroyed."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from pme_parquet._arguments import joined
from pme_parquet._audience import Words
from pme_parquet._display.words import number, size
from pme_parquet._operations.operation import Operation
from pme_parquet._operations.sealing import own_options
from pme_parquet._operations.verify import live_files
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike

_WHERE = Words("pme.erase")
_MOST_SHOWN = 20
_UNCHANGED = "nothing was changed."
_AGAIN = "keys may be destroyed. Run it again with the same arguments to complete it."


@dataclass(frozen=True)
class ErasedKey:
    """A master key of an erasure.

    Attributes:
        key: its id.
        state: `usable`, `missing`, `scheduled` or `destroyed`, as its KMS says.
        until: when a scheduled key is destroyed, if the KMS states it.
    """

    key: str
    state: Literal["usable", "missing", "scheduled", "destroyed"]
    until: str | None = None


@dataclass(frozen=True)
class ErasedFile:
    """A file that the keys open.

    Attributes:
        table: the table's directory.
        file: its path.
        part: of a Delta table, as in `pme.key_usage`; empty for others.
        partition: its directories `name=value`, or what it states.
        keys: the keys of the erasure that it has.
        columns: those that nobody can read without the keys.
        left: those that stay readable.
        rows: None if the keys were gone before anybody noted it.
        bytes: its size.
    """

    table: str
    file: str
    part: str
    partition: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    left: tuple[str, ...]
    rows: int | None
    bytes: int


@dataclass(frozen=True)
class ErasureFinding:
    """What speaks against an erasure.

    Attributes:
        kind: `no file`: nothing here is under a key; `shared`: rows of others are under the keys; `other table`;
            `left`: rows to erase are not under the keys; `unknown`: the file could not be looked at, or nothing would
            prove that it needs the key; `sealed`: a sealed table that could not state the erasure.
        file: its path, or the table's.
        why: a clause.
    """

    kind: str
    file: str
    why: str


@dataclass(frozen=True)
class Erasure:
    """What an erasure did, or would do. `print(erasure)` shows it.

    Attributes:
        state: `planned` for a dry run, or `complete`.
        kms: the KMS of the keys.
        consequence: how it destroys them.
        keys: the keys.
        files: the files that they open.
        findings: what would keep a real run from destroying anything.
        certificate: all that is known, with the evidence and what is not covered. A real run writes it to
            `_pme_erasures` under the table.
    """

    state: Literal["planned", "complete"]
    kms: str
    consequence: str
    keys: tuple[ErasedKey, ...]
    files: tuple[ErasedFile, ...]
    findings: tuple[ErasureFinding, ...]
    certificate: dict[str, Any]

    @property
    def rows(self) -> int | None:
        """The number of rows; None if it is not known for some files."""
        known = [file.rows for file in self.files if file.rows is not None]
        return sum(known) if len(known) == len(self.files) else None

    def __str__(self) -> str:
        rows = "rows" if self.rows is None else number(self.rows, "row")
        what = f"{rows} in {number(len(self.files), 'file')} ({size(sum(file.bytes for file in self.files))})"
        is_plan = self.state == "planned"
        lines = [f"{what} {'would become' if is_plan else 'are'} unreadable"]
        lines += [f"key {key.key}: {key.state}{f' until {key.until}' if key.until else ''}" for key in self.keys]
        lines += [f"{self.kms} destroys keys {self.consequence}"]
        left = sorted({column for file in self.files for column in file.left})
        lines += [f"columns that stay readable: {', '.join(left)}"] if left else []
        lines += [f"{one.kind}: {one.file}: {one.why}" for one in self.findings[:_MOST_SHOWN]]
        more = len(self.findings) - _MOST_SHOWN
        lines += [f"and {more} more"] if more > 0 else []
        return "\n".join(lines)


def erase(  # noqa: PLR0913 what to erase, where to look, and who does it
    spark: SparkSession,
    path: PathLike,
    keys: Sequence[str],
    *,
    kms: KmsLike | None = None,
    partitions: Mapping[str, str] | None = None,
    also: Sequence[str] | None = None,
    other_tables: Sequence[str] | None = None,
    dry_run: bool = True,
    signing: str | None = None,
    by: str | None = None,
    options: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> Erasure:
    """Destroy master keys, so that nobody can read what they protect, and prove it.

    By default this is a dry run, which says what the keys open. A real run destroys nothing unless every file under
    the keys is in `partitions`, and every file could be looked at. It then opens each file again, and writes a
    certificate.

    Example:
        print(pme.erase(spark, "/data/orders", ["t-acme"], kms=keys, partitions={"tenant": "acme"}))
        done = pme.erase(spark, "/data/orders", ["t-acme"], kms=keys, partitions={"tenant": "acme"}, dry_run=False)

    If a run is killed, run it again with the same arguments.

    Args:
        spark: a classic session.
        path: the directory of a whole table.
        keys: the master keys to destroy.
        kms: the KMS of the master keys; by default that of the session.
        partitions: a value for each of some columns, which directories have or files state. A file under the keys
            with another one is an error, and so is a file with it that is not under them. A table with
            such columns needs it.
        also: further tables whose rows under the keys are to be erased.
        other_tables: tables that must not be under the keys.
        dry_run: whether to say only what would be destroyed.
        signing: the key to sign the certificate with, and the next version of a sealed table, which states the erasure.
        by: who erases, for the certificate; by default the user of the session.
        options: options for reading: `aadPrefix` for files that do not contain it.
        progress: whether to show progress; by default on a terminal and in a notebook.

    Raises:
        ErasureError: rows of others would be lost, rows would be left, or the destruction could not be proved.
        KeyNotFoundError: the KMS knows no such key.
        UnsupportedError: the KMS does not destroy keys.
        SnapshotMismatchError: a sealed table is not as its newest version lists it.
    """
    erasure = Operation(spark, _WHERE, "erase.Erasure", "run")
    if isinstance(keys, str) or not keys:
        raise BadOptionError(f"{_WHERE}(keys): it is not a list of names. Name the master keys to destroy.")
    reading = joined(erasure.reading(kms, options), own_options(_WHERE, signing), _WHERE)
    where = erasure.path(path)
    further, others = ([erasure.path(one) for one in some or ()] for some in (also, other_tables))
    done = erasure.run(
        where,
        reading,
        list(keys),
        dict(partitions or {}),
        further,
        others,
        bool(dry_run),
        by,
        [live_files(spark, table, reading, _WHERE) for table in dict.fromkeys([where, *further, *others])],
        progress=progress,
        interrupted=_UNCHANGED if dry_run else _AGAIN,
    )
    return _erasure(json.loads(done))


def _erasure(found: dict[str, Any]) -> Erasure:
    return Erasure(
        found["state"],
        found["kms"],
        found["consequence"],
        tuple(ErasedKey(key["key"], key["state"], key.get("until")) for key in found["keys"]),
        tuple(_file(file) for file in found["files"]),
        tuple(ErasureFinding(**finding) for finding in found["findings"]),
        found,
    )


def _file(found: dict[str, Any]) -> ErasedFile:
    names = {name: tuple(found[name]) for name in ("keys", "columns", "left")}
    known: dict[str, Any] = {one.name: found.get(one.name) for one in fields(ErasedFile)}
    return ErasedFile(**known | names)
