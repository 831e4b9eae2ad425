"""An inspection in the form that text, HTML and rich's tables share: one file line by line, several files by groups.

Keys and AAD prefixes contain text from a file, so a screen gets them through `words.printable`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._audience import Words
from pme_parquet._display.content import Line, Row, Shown, Table, how_reached
from pme_parquet._display.words import FOOTERS, Grouped, by_cause, number, printable, size
from pme_parquet._inspect.inspected import DELTA, HUDI, ICEBERG
from pme_parquet._snapshots.results import indexes_in_words, minute, not_checked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pme_parquet._inspect.inspected import (
        Column,
        Finding,
        Group,
        InspectedFile,
        InspectedTable,
        Key,
        OrcColumn,
        OrcFile,
    )
    from pme_parquet._snapshots.version import SnapshotVersion

_MOST = 20
# Columns of the table.
_MOST_MASKS = 100
AUTHENTICATES_NOTHING = (
    "ORC encrypts with AES-CTR, which authenticates nothing: whoever can write to the storage can change data "
    "unnoticed."
)
READABLE = (
    "Everyone can read the names and types of all columns, the numbers of rows, the sizes of encrypted columns, the "
    "masks, and the statistics of the masks."
)
# parquet-java writes this if no KMS is named.
_UNNAMED = {"", "DEFAULT", None}


def shown(
    place: tuple[str, str],
    files: Sequence[InspectedFile],
    groups: Sequence[Group],
    drift: Sequence[str],
    tables: Sequence[InspectedTable],
) -> Shown:
    """The view of an inspection, with its path and how that was reached; texts from files are made printable."""
    path, storage = place
    of_files = _of_file(files[0]) if len(files) == 1 else (_of_groups(groups),) if files else ()
    differences = (Line(line, "yellow") for line in drift)
    findings = [finding for file in files for finding in file.findings]
    findings += [finding for table in tables for finding in table.findings]
    wrong = (Line(line, "red") for line in _findings(findings))
    about = (*_about_orc(files), *_of_formats(tables), *_about(tables), *how_reached(storage))
    return Shown(_title(path, files), (*of_files, *_of_tables(tables)), (*differences, *wrong, *about))


def _title(path: str, files: Sequence[InspectedFile]) -> str:
    text = f"{printable(path)}: {number(len(files), 'file')}, {size(sum(file.bytes for file in files))}"
    encrypted = sum(file.encrypted for file in files)
    return f"{text}, {encrypted:,} encrypted" if len(files) != 1 else text


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    return by_cause(Grouped(finding.condition, finding.file, finding.message) for finding in findings)


def _of_tables(tables: Sequence[InspectedTable]) -> Iterator[Table]:
    """What the newest snapshots state: line by line for a single table."""
    found = [(table, table.newest) for table in tables if table.newest]
    if len(tables) == 1 and found:
        yield Table((), tuple((name, printable(value)) for name, value in _snapshot(*found[0]) if value))
    elif found:
        header = ("snapshots of", "version", "created", "files", "rows", "seal, not checked")
        yield Table(header, tuple(_row(table, newest) for table, newest in found[:_MOST]))


def _snapshot(table: InspectedTable, newest: SnapshotVersion) -> Iterator[tuple[str, str]]:
    yield "snapshot", f"version {newest.version}{f' of {table.table}' if table.table else ''}"
    yield "created", f"{minute(newest.created)} UTC by {newest.creator}"
    yield "lists", f"{number(newest.files, 'file')}, {number(newest.rows, 'row')}, {size(newest.bytes)}"
    yield "seal", f"{newest.algorithm}, key '{newest.key}'; not checked"
    yield "indexes", indexes_in_words(newest.indexes)


def _row(table: InspectedTable, newest: SnapshotVersion) -> Row:
    seal = f"{newest.algorithm}, key '{newest.key}'"
    cells = (table.table or ".", f"{newest.version:,}", minute(newest.created), f"{newest.files:,}")
    return tuple(map(printable, (*cells, f"{newest.rows:,}", seal)))


def _formats() -> dict[str, str]:
    return {
        DELTA: f"{Words('pme.delta.check')} says what its log shows.",
        HUDI: "Its timeline and its metadata in .hoodie were not read: files of older versions are among those above.",
        ICEBERG: (
            "Iceberg encrypts whole files, and no column has a key of its own: the manifests hold the key of each "
            f"file. metadata.json stays readable, and was not read: {Words('pme.iceberg.check')} says what it shows."
        ),
    }


def _of_formats(tables: Sequence[InspectedTable]) -> Iterator[Line]:
    for name, text in _formats().items():
        of_it = [table for table in tables if table.format == name]
        if not of_it:
            continue
        what = f"{name} table" if list(tables) == of_it[:1] else f"{name} tables ({_names(of_it)})"
        metadata = sum(table.metadata_files for table in of_it)
        more = f", and {number(metadata, 'file')} of metadata" if metadata else ""
        yield Line(f"{what}{more}. {text}")
        if name == DELTA:
            yield from (Line(_of_live(table)) for table in of_it[:_MOST])


def _of_live(table: InspectedTable) -> str:
    """Which of its files are live, and who says so."""
    of = f"{printable(table.table)}: " if table.table else ""
    if table.version is None:
        return f"{of}which of its files are live is not known: {table.live_problem}"
    elsewhere = f"; {number(table.live_elsewhere, 'live file')} not among these" if table.live_elsewhere else ""
    counts = f"{table.live or 0:,} of these files live, {table.not_live or 0:,} not{elsewhere}"
    return f"{of}version {table.version:,}: {counts} (by {table.live_by})"


def _names(tables: Sequence[InspectedTable]) -> str:
    names = [table.table or "." for table in tables]
    more = f" and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
    return f"{', '.join(map(printable, names[:_MOST]))}{more}"


def _about(tables: Sequence[InspectedTable]) -> Iterator[Line]:
    have = sum(table.has_snapshots for table in tables)
    if not have:
        return
    if have > _MOST:
        yield Line(f"and snapshots of {number(have - _MOST, 'more table')}; --json and to_dict() list all")
    if have < len(tables):
        yield Line(f"no snapshots: {_names([table for table in tables if not table.has_snapshots])}")
    yield Line(not_checked())


def _of_groups(groups: Sequence[Group]) -> Table:
    rows = []
    for group in groups[:_MOST]:
        file = group.example
        footer = f"ORC, {file.footer}" if file.orc else file.footer or "not known"
        cells = (footer, file.algorithm or "", key_ids(file), file.file)
        rows.append((f"{group.files:,}", size(group.bytes), *map(printable, cells)))
    return Table(("files", "size", "footer", "algorithm", "keys", "first file"), tuple(rows), paths=True)


def _of_file(file: InspectedFile) -> Iterator[Table]:
    fields = (*_fields(file), *_orc_fields(file.orc)) if file.orc else _fields(file)
    yield Table((), tuple((name, printable(value)) for name, value in fields if value))
    if file.columns:
        header = ("column", "size", "encrypted with")
        yield Table(header, tuple(_of_column(column) for column in file.columns))
    if file.orc and file.orc.encrypted:
        yield _orc_masks(file.orc)


def _fields(file: InspectedFile) -> Iterator[tuple[str, str]]:
    hidden = "not visible without the footer key" if file.footer == "encrypted" else ""
    yield "footer", FOOTERS[file.footer]
    yield "live", "" if file.live is None else "yes" if file.live else "no"
    yield "algorithm", file.algorithm or ""
    yield "AAD prefix", aad_prefix(file)
    if file.footer_key:
        yield "footer key", _key(file.footer_key)
    for key in file.column_keys[:_MOST]:
        yield "column key", _key(key)
    if len(file.column_keys) > _MOST:
        yield "", f"and {len(file.column_keys) - _MOST:,} more column keys"
    yield "columns", hidden if file.columns is None else f"{len(file.columns):,}"
    groups = number(file.row_groups or 0, "stripe" if file.orc else "row group")
    yield "rows", hidden if file.rows is None else f"{file.rows:,} in {groups}"
    yield "written by", hidden if file.created_by is None else file.created_by


def _key(key: Key) -> str:
    details = key_details(key)
    return f"{key_id(key)}: {details}" if details else key_id(key)


def _of_column(column: Column) -> Row:
    key = "" if column.key is None else f": {key_id(column.key)}"
    protection = f"{column.encrypted_with}{key}" if column.encrypted_with else "not encrypted"
    return printable(column.name), size(column.compressed_bytes), printable(protection)


def _orc_fields(orc: OrcFile) -> Iterator[tuple[str, str]]:
    """The lines of a single file."""
    yield "format", f"ORC {orc.version}, compression {orc.compression}, writer version {orc.writer_version}"
    if orc.key_provider is not None:
        yield "encryption", f"{number(orc.variants, 'encrypted variant')}, key provider {orc.key_provider}"
    yield "metadata", ", ".join(orc.metadata)


def _orc_masks(orc: OrcFile) -> Table:
    """The encrypted columns, each with its mask and what that leaves readable."""
    header = ("encrypted column", "mask", "readable without a key", "readable statistics")
    rows = [
        tuple(map(printable, (one.name, mask(one), readable(one), statistics(one))))
        for one in orc.encrypted[:_MOST_MASKS]
    ]
    more = len(orc.encrypted) - _MOST_MASKS
    if more > 0:
        rows.append((f"and {more:,} more", "", "", ""))
    return Table(header, tuple(rows))


def mask(column: OrcColumn) -> str:
    """The mask in words."""
    return column.mask or "not stated"


def readable(column: OrcColumn) -> str:
    """What can be learnt of a column, in words."""
    return "; ".join(column.readable) or "nothing of its values"


def statistics(column: OrcColumn) -> str:
    """Which statistics of the mask are in the footer."""
    return ", ".join(column.statistics) or "none"


def _about_orc(files: Sequence[InspectedFile]) -> Iterator[Line]:
    """What is true of all encrypted ORC files."""
    if any(file.orc and file.encrypted for file in files):
        yield Line(READABLE)
        yield Line(AUTHENTICATES_NOTHING, "yellow")


def key_id(key: Key) -> str:
    """The key's name in a few words."""
    if key.management == "none":
        return "a key that the file does not name"
    if key.management == "unreadable":
        return "a key whose metadata cannot be used"
    version = f" version {key.master_key_version}" if key.master_key_version else ""
    return f"key '{key.master_key}'{version}"


def key_details(key: Key) -> str:
    """How to get the data key, to follow its name."""
    if key.management == "direct":
        return "named by the file as the data key itself"
    if key.management == "derived":
        return f"data key {_bits(key.data_key_bits)}, decrypted by the master key itself or by Hadoop KMS"
    if key.management != "envelope":
        return ""
    parts = [f"data key {_bits(key.data_key_bits)}"]
    if key.double_wrapping:
        parts.append(f"wrapped by key-encryption key {key.kek_id} ({_bits(key.kek_bits)}), which the master key wraps")
    else:
        parts.append("wrapped by the master key")
    parts.append("in the file" if key.material == "internal" else "in a separate file")
    if key.kms_instance_id not in _UNNAMED:
        parts.append(f"KMS '{key.kms_instance_id}'")
    if key.kms_instance_url not in _UNNAMED:
        parts.append(f"at '{key.kms_instance_url}'")
    return ", ".join(parts)


def aad_prefix(file: InspectedFile) -> str:
    """Whether there is a prefix, and which."""
    if file.aad_prefix == "stored":
        return f"in the file: {file.aad_prefix_value}"
    return {"required": "not in the file: readers must set it", "none": "none", None: ""}[file.aad_prefix]


def key_ids(file: InspectedFile) -> str:
    """The visible keys of the footer and of columns, and whether there is an AAD prefix."""
    if file.orc:
        return ", ".join(sorted({key_id(key) for key in file.column_keys}))
    if file.footer_key is None:
        return ""
    columns = ", ".join(sorted({key_id(key) for key in file.column_keys}))
    if not columns:
        columns = "not visible" if file.footer == "encrypted" else "no keys of their own"
    prefix = {"stored": "; AAD prefix in the file", "required": "; AAD prefix not in the file"}
    return f"footer: {key_id(file.footer_key)}; columns: {columns}{prefix.get(file.aad_prefix or '', '')}"


def short(key: Key) -> str:
    """The key's name, for places with little room."""
    return key.master_key or {"none": "not named", "unreadable": "not readable"}[key.management]


def _bits(bits: int | None) -> str:
    return "of unknown length" if bits is None else f"{bits} bits"
