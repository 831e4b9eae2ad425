"""Checkpoints: what anyone can read of them, which are encrypted, and which are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._inspect.look import look
from pme_parquet._inspect.view import key_id
from pme_parquet._storage import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from pme_parquet._checks.results import Findings
    from pme_parquet._delta_log.log import Log
    from pme_parquet._storage import Storage

# Rows of a checkpoint that are in memory together.
_ROWS = 256
# What the footer of a checkpoint may state as the size of its columns.
MAX_DECODED = 4 * 1024 * 1024 * 1024
_INTERVAL = "delta.checkpointInterval"
# Of Delta's writer for Spark, if the table has no property.
_DEFAULT_INTERVAL = 10
_SHOWN = 10


def rows(storage: Storage, log: Log, findings: Findings) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of all checkpoints and sidecars that are not encrypted, each as an object of actions."""
    unread = findings.unread
    try:
        import pyarrow  # noqa: F401, ICN001, PLC0415 an extra, and slow to import
    except ImportError:
        for file in log.parquet:
            unread(file, "it was not read: this needs the package pyarrow. pip install pyarrow")
        return
    for file, (found, path) in log.parquet.items():
        facts = look(storage, found)
        hidden = sum(bool(column.encrypted_with) for column in facts.columns or ())
        if facts.footer is None:
            unread(file, "it is not a Parquet file that can be read")
            continue
        if hidden:
            unread(file, f"{hidden} of its columns are encrypted, and the others were not read")
            continue
        try:
            for row in _rows(path):
                yield file, row
        except (KeyboardInterrupt, SystemExit):
            raise
        except Exception as failed:  # noqa: BLE001 PyArrow raises many
            unread(file, f"it was not read to its end: PyArrow failed with {type(failed).__name__}")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq  # noqa: PLC0415 as above

    with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        if sum(max(group.total_byte_size, 0) for group in groups) > MAX_DECODED:
            raise UnreadableError
        for batch in file.iter_batches(batch_size=_ROWS, use_threads=False):
            yield from batch.to_pylist()


def encrypted(storage: Storage, log: Log, findings: Findings) -> None:
    """Notes encrypted checkpoints with their keys."""
    for file, found in log.sealed.items():
        facts = look(storage, found)
        if facts.footer is None or facts.footer_key is None:
            findings.unread(file, "it ends as an encrypted file, but it is damaged")
            continue
        what = f"it is encrypted; its footer under {key_id(facts.footer_key)}"
        findings.add("encrypted checkpoint", "note", file, what)


def missing(log: Log, properties: Mapping[str, str], by_spark: Collection[str], findings: Findings) -> None:
    """Adds the checkpoints that the table's writer should have made, and has not.

    Args:
        log: the log.
        properties: of the table.
        by_spark: the files of commits that Delta's writer for Spark made.
        findings: gets them.
    """
    stated = properties.get(_INTERVAL)
    interval = int(stated) if stated and stated.isdecimal() and len(stated) < _SHOWN else None
    absent = [
        version
        for version, file in sorted(log.commits.items())
        if version
        and version not in log.checkpoints
        and version % (interval or _DEFAULT_INTERVAL) == 0
        and (interval or file in by_spark)
    ]
    if absent:
        versions = ", ".join(map(str, absent[:_SHOWN])) + (", …" if len(absent) > _SHOWN else "")
        why = f"{_INTERVAL} is {interval}" if interval else f"Delta's default is one every {_DEFAULT_INTERVAL} versions"
        what = f"there is no checkpoint of version {versions}, although {why}; a writer may have failed to encrypt it"
        findings.add("missing checkpoint", "low", "", what)
