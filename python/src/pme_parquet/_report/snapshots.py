"""The section about snapshots: which tables have one, what seals it, the keys of its indexes, what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pme_parquet._audience import Words
from pme_parquet._display.words import number
from pme_parquet._report.html import Html, first, limited, listed, paragraph, tag
from pme_parquet._snapshots.results import minute

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pme_parquet._inspect.inspected import InspectedTable
    from pme_parquet._report.facts import Facts
    from pme_parquet._snapshots.version import Index, SnapshotPolicy, SnapshotVersion

SNAPSHOTS = "Snapshots"
_HMAC = "HMAC-SHA256"
_MOST_NAMES = 20
_WITHOUT = "Nobody notices if a file of {} is added, removed, or put back to an older version. {} makes a snapshot."
_SEAL = Words("pme.seal")


class Stated(NamedTuple):
    """A table, and what its newest snapshot states."""

    table: InspectedTable
    newest: SnapshotVersion

    @property
    def name(self) -> str:
        """The table's name in the report."""
        return name_of(self.table)

    def is_checked(self, facts: Facts) -> bool:
        """Whether verification checked its seal: that of the table at the report's path."""
        return facts.seal_checked and not self.table.table


def name_of(table: InspectedTable) -> str:
    """The path of a table below the report's; the report's own table has no other name."""
    return table.table or "this table"


def stated(facts: Facts) -> list[Stated]:
    """The tables whose newest snapshot can be read."""
    return [Stated(table, table.newest) for table in facts.inspection.tables if table.newest]


def without(facts: Facts) -> list[str]:
    """The names of tables that have no snapshot."""
    return [name_of(table) for table in facts.inspection.tables if not table.has_snapshots]


def under_other_keys(facts: Facts) -> list[str]:
    """The indexes that are open to others than the holders of their columns' keys."""
    return [
        f"{index.kind} of {index.name}{' (not encrypted)' if index.key is None else ''}"
        for one in stated(facts)
        for index in one.newest.indexes
        if _is_under_another(index, one.newest.policy)
    ]


def snapshots(facts: Facts) -> Html:
    """The section."""
    found = stated(facts)
    lead = (
        "A snapshot lists the files of a table, and a signature or an HMAC seals the list. Readers refuse a table that "
        "is not as its newest snapshot lists it. This section shows what manifests state."
    )
    parts = [paragraph(lead), *_missing(facts)]
    if not found:
        return tag("div", *parts)
    checked = [one.name for one in found if one.is_checked(facts)]
    unchecked = [one.name for one in found if not one.is_checked(facts)]
    if checked:
        parts.append(
            paragraph(
                f"Verification checked the seal and the files of {first(checked, _MOST_NAMES)}. Its findings are "
                "listed above."
            )
        )
    if unchecked:
        parts.append(paragraph(f"No seal was checked of: {first(unchecked, _MOST_NAMES)}."))
    header = ("Table", "Version", "Created (UTC)", "By", "Files", "Rows", "Seal", "Who can forge it")
    parts.append(limited("Newest snapshots", header, [_row(one) for one in found], numbers=(1, 4, 5)))
    indexes = [_index(one, index) for one in found for index in one.newest.indexes]
    if indexes:
        titles = ("Table", "Column", "Kind", "Parameters", "Key", "Compared with its column")
        parts.append(limited("Indexes of the newest snapshots", titles, indexes))
    parts.append(paragraph("Manifests are not encrypted. Anyone with access to the storage can read in them:"))
    return tag("div", *parts, listed(_readable(facts, found)))


def _missing(facts: Facts) -> Iterator[Html]:
    """Which tables have no snapshot, or none that can be read."""
    names = without(facts)
    if names and len(facts.inspection.tables) == 1:
        yield paragraph(f"This table has no snapshot. {_WITHOUT.format('it', _SEAL)}")
    elif names:
        yield paragraph(f"Without a snapshot: {first(names, _MOST_NAMES)}. {_WITHOUT.format('these tables', _SEAL)}")
    if not facts.inspection.tables:
        yield paragraph("A single file has no snapshot. The report of its table shows whether the table has one.")
    if names:
        yield paragraph("Snapshots in other directories (snapshotLocation) were not looked for.", class_="note")
    unreadable = [name_of(one) for one in facts.inspection.tables if one.has_snapshots and not one.newest]
    if unreadable:
        yield paragraph(
            f"The newest snapshot of {first(unreadable, _MOST_NAMES)} cannot be read, and readers refuse the table. "
            "The findings say why."
        )


def _row(one: Stated) -> Sequence[str]:
    newest = one.newest
    return (
        one.name,
        f"{newest.version:,}",
        minute(newest.created),
        newest.creator,
        f"{newest.files:,}",
        f"{newest.rows:,}",
        f"{'HMAC' if newest.algorithm == _HMAC else 'signature'}: {newest.algorithm}, key {newest.key}",
        forgers(newest),
    )


def forgers(newest: SnapshotVersion) -> str:
    """The people who can make a seal that readers accept."""
    if newest.algorithm == _HMAC:
        return f"holders of master key {newest.key}, which includes all readers"
    others = newest.policy.footer_key
    signers = f"holders of signing key {newest.key}"
    if others is None:
        return signers
    master = f"a key that {others} names" if "{" in others else f"master key {others}"
    return f"{signers}. Readers without verifyKey also accept an HMAC by holders of {master}"


def _index(one: Stated, index: Index) -> Sequence[str]:
    key = "not encrypted" if index.key is None else index.key
    return one.name, index.name, index.kind, index.settings, key, _compared(index, one.newest.policy)


def _compared(index: Index, policy: SnapshotPolicy) -> str:
    column = policy.key_of(index.column)
    if not policy.encrypted:
        return "the table is not encrypted"
    if _is_under_another(index, policy):
        how = "anyone can read it" if index.key is None else "another key"
        return f"{how}: the column is under {column}"
    return "the column is not encrypted" if column is None else "the same key"


def _is_under_another(index: Index, policy: SnapshotPolicy) -> bool:
    column = policy.key_of(index.column)
    return column is not None and index.key != column


def _readable(facts: Facts, found: Sequence[Stated]) -> Iterator[str]:
    columns = list(dict.fromkeys(".".join(one.column) for each in found for one in each.newest.policy.columns))
    hidden = any(file.footer == "encrypted" for file in facts.inspection.files)
    but = " Encrypted footers hide these names, but manifests do not." if hidden else ""
    yield f"Names of columns, each with its master key: {first(columns, _MOST_NAMES)}.{but}"
    partitions = list(dict.fromkeys(name for each in found for name in each.newest.partition_columns))
    if partitions:
        yield f"Partition columns: {first(partitions, _MOST_NAMES)}."
    indexed = list(dict.fromkeys(index.name for each in found for index in each.newest.indexes))
    if indexed:
        yield f"Columns with an index, their types and the index's parameters: {first(indexed, _MOST_NAMES)}."
    parts = sum(len(each.newest.parts) for each in found)
    yield f"The first and the last file of each of {number(parts, 'part')} of the lists, and the sizes of all parts."
    yield "Numbers of files, rows and bytes; paths of tables; who sealed them, when, and with which program and key."
