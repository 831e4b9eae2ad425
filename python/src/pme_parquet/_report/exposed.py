"""What is not protected, and what is not known: sentences with the names of columns and files."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pme_parquet._audience import Words
from pme_parquet._display.words import number, size
from pme_parquet._inspect.inspected import DELTA, HUDI, ICEBERG
from pme_parquet._inspect.view import AUTHENTICATES_NOTHING, READABLE, key_id, mask, readable, statistics
from pme_parquet._report.html import first, limited, listed, paragraph, tag
from pme_parquet._report.summary import CTR, partitions_of, plain_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pme_parquet._report.facts import Facts
    from pme_parquet._report.html import Html

_MOST_NAMES = 20
_READABLE_FOOTER = (
    "Names and types of all columns, numbers of rows and row groups, the size of each column, the writer of the file, "
    "the metadata of Spark, and the key of each column. They have no statistics of encrypted columns."
)
_MOST_ORC_COLUMNS = 200


def _logs() -> dict[str, str]:
    return {
        DELTA: (
            "Its log can show minimum and maximum of columns, conditions of changes, and partition values. It was not "
            f"read for this report: {Words('pme.delta.check')} looks at it."
        ),
        HUDI: "Its timeline and metadata table can show statistics of columns. They were not read for this report.",
        ICEBERG: (
            "Its metadata can show bounds of columns and the keys of files. It was not read for this report: "
            f"{Words('pme.iceberg.check')} looks at it."
        ),
    }


def unprotected(facts: Facts) -> Html:
    """What anyone with access to the storage can read."""
    return listed(tag("span", tag("strong", f"{title}. "), text) for title, text in _unprotected(facts))


def _unprotected(facts: Facts) -> Iterator[tuple[str, str]]:
    files = facts.inspection.files
    plain = [file for file in files if file.footer == "plaintext"]
    if plain:
        length = size(sum(file.bytes for file in plain))
        names = first([file.file for file in plain], _MOST_NAMES)
        yield f"{number(len(plain), 'plaintext file')}, {length}", f"All their content: {names}."
    columns = plain_columns(facts)
    if columns:
        yield "Plaintext columns in encrypted files", f"Their values and statistics: {first(columns, _MOST_NAMES)}."
    signed = sum(file.footer == "signed" for file in files)
    if signed:
        yield (
            f"Readable footers of {number(signed, 'file')}",
            _READABLE_FOOTER,
        )
    yield from _of_orc(facts)
    partitions = partitions_of(facts)
    if partitions:
        text = "; ".join(f"{name} ({number(len(values), 'value')})" for name, values in sorted(partitions.items()))
        yield (
            "Names of partition directories",
            f"Values of these columns are part of paths, readable and not authenticated: {text}.",
        )
    if any(file.encrypted for file in files):
        yield "Names of keys", "The files show the ids of master keys and key-encryption keys, and the algorithm."
    stored = sorted({file.aad_prefix_value or "" for file in files if file.aad_prefix == "stored"})
    if stored:
        yield "AAD prefixes", f"The files show the names that they are bound to: {first(stored, _MOST_NAMES)}."
    ctr = sum(file.algorithm == CTR for file in files)
    if ctr:
        yield (
            f"Integrity of data in {number(ctr, 'file')}",
            f"{CTR} encrypts pages, but anyone who can write to the storage can change them undetected.",
        )
    yield from _of_formats(facts)
    if any(table.has_snapshots for table in facts.inspection.tables):
        yield (
            "Manifests of snapshots",
            "Names of columns and keys, numbers of rows, and what the section Snapshots lists.",
        )
    yield (
        "Names, sizes and times of files",
        "The number of files, the sizes of files and pages, and when the files were written.",
    )


def _of_formats(facts: Facts) -> Iterator[tuple[str, str]]:
    for name, text in _logs().items():
        if any(table.format == name for table in facts.inspection.tables):
            yield f"What {name} keeps beside the files", text
    stale = sum(table.not_live or 0 for table in facts.inspection.tables)
    if stale:
        yield (
            f"{number(stale, 'file')} not live",
            "They are not part of the newest version, and stay until VACUUM deletes them. They count like the others.",
        )


def _of_orc(facts: Facts) -> Iterator[tuple[str, str]]:
    count = sum(bool(file.orc) and file.encrypted for file in facts.inspection.files)
    if count:
        yield f"Footers and masks of {number(count, 'ORC file')}", READABLE
        yield f"Integrity of data in {number(count, 'ORC file')}", AUTHENTICATES_NOTHING


def unknown(facts: Facts) -> Html:
    """What this report cannot show."""
    lead = (
        "Inspection proves nothing: anyone who can write to the storage can forge what a file states about its keys. "
        "Only a reader with keys can detect that."
    )
    return tag("div", paragraph(lead), listed(_unknown(facts)))


def _unknown(facts: Facts) -> Iterator[str]:
    hidden = sum(file.footer == "encrypted" for file in facts.inspection.files)
    if not facts.with_keys:
        if hidden:
            yield (
                f"Columns of {number(hidden, 'file')} with encrypted footers: their names, their keys, and whether any "
                "is in plaintext. That needs keys."
            )
        yield "Whether files are complete and authentic: only the ends of files were read, and no tag was checked."
        yield "Whether the keys still exist, and who may use them: no KMS was called."
    else:
        if facts.opened and facts.opened.sample:
            yield "Files and pages outside the sample: they were not verified."
        unopened = facts.protection.unknown_files if facts.protection else 0
        if unopened:
            yield (
                f"Columns of {number(unopened, 'file')} whose footers could not be opened, and whether any is in "
                "plaintext."
            )
        yield from (
            f"Key {use.master_key or 'not named'}, {use.kind}: some of its use is not known "
            f"({', '.join(use.problems)})."
            for use in facts.usage or ()
            if use.problems
        )
        yield "Who else may use the keys: only the KMS knows that."
    for table in facts.inspection.tables:
        if table.live_problem:
            yield f"Which files of the Delta table {table.table or 'at this path'} are live: {table.live_problem}."
    yield "Whether a file was replaced by an older version or deleted: authentication tags do not detect that."
    if any(table.has_snapshots for table in facts.inspection.tables):
        yield "Whether the table and its snapshots were put back: only readers who know a newer version notice that."
    yield "Whether the same data exists elsewhere in plaintext: in copies, backups, logs or temporary files."


def has_orc_files(facts: Facts) -> bool:
    """Whether there is any ORC file."""
    return any(file.orc for file in facts.inspection.files)


def orc_columns(facts: Facts) -> Html:
    """Each encrypted column, once for each way in which files protect and mask it."""
    counts = Counter(
        (one.name, one.type, ", ".join(map(key_id, one.keys)), mask(one), readable(one), statistics(one))
        for file in facts.inspection.files
        if file.orc
        for one in file.orc.encrypted
    )
    if not counts:
        return paragraph("No column of the ORC files is encrypted.")
    explained = paragraph(
        f"{AUTHENTICATES_NOTHING} In place of encrypted columns, readers without a key get masks, which are stored "
        "without encryption, with statistics of their own."
    )
    rows = [
        (name, type_, key, masked, left, kept, f"{files:,}")
        for (name, type_, key, masked, left, kept), files in sorted(counts.items())
    ]
    header = ("Column", "Type", "Key", "Mask", "Readable without a key", "Readable statistics", "Files")
    return tag(
        "div", explained, limited("Encrypted columns of ORC files", header, rows, numbers=(6,), most=_MOST_ORC_COLUMNS)
    )
