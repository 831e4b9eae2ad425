"""What is not protected, and what is not known: in sentences, with the names it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._inspect.words import number, size
from pme_parquet._report.html import first, listed, paragraph, tag
from pme_parquet._report.summary import CTR, partitions_of, plain_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pme_parquet._report.facts import Facts
    from pme_parquet._report.html import Html

_MOST_NAMES = 20
_READABLE_FOOTER = (
    "Names and types of all columns, how many rows and row groups there are, the size of each column, who wrote the "
    "file, what Spark notes in it, and which key each column has. Statistics of encrypted columns are not in them."
)


def unprotected(facts: Facts) -> Html:
    """What anyone can read who has the storage."""
    return listed(tag("span", tag("strong", f"{title}. "), text) for title, text in _unprotected(facts))


def _unprotected(facts: Facts) -> Iterator[tuple[str, str]]:
    files = facts.inspection.files
    plain = [file for file in files if file.footer == "plaintext"]
    if plain:
        length = size(sum(file.bytes for file in plain))
        names = first([file.file for file in plain], _MOST_NAMES)
        yield f"{number(len(plain), 'plaintext file')}, {length}", f"All that is in them: {names}."
    columns = plain_columns(facts)
    if columns:
        yield "Plaintext columns in encrypted files", f"Their values and statistics: {first(columns, _MOST_NAMES)}."
    signed = sum(file.footer == "signed" for file in files)
    if signed:
        yield (
            f"Readable footers of {number(signed, 'file')}",
            _READABLE_FOOTER,
        )
    partitions = partitions_of(facts)
    if partitions:
        told = "; ".join(f"{name} ({number(len(values), 'value')})" for name, values in sorted(partitions.items()))
        yield (
            "Names of partition directories",
            f"The values of these columns stand in paths, readable and not authenticated: {told}.",
        )
    if any(file.encrypted for file in files):
        yield "Names of keys", "Ids of master keys and of key encryption keys, and the algorithm, stand in the files."
    stored = sorted({file.aad_prefix_value or "" for file in files if file.aad_prefix == "stored"})
    if stored:
        yield "AAD prefixes", f"The names that files are bound to stand in them: {first(stored, _MOST_NAMES)}."
    ctr = sum(file.algorithm == CTR for file in files)
    if ctr:
        yield (
            f"Integrity of data in {number(ctr, 'file')}",
            f"{CTR} hides what is in pages, but who can write to the storage can alter it unnoticed.",
        )
    yield (
        "Names, sizes and times of files",
        "How many there are, how large they and the pages in them are, and when they were written.",
    )


def unknown(facts: Facts) -> Html:
    """What this report does not tell."""
    lead = (
        "Inspection proves nothing: what a file says of its keys may have been written by anyone who can write to the "
        "storage, and only a reader with keys finds out."
    )
    return tag("div", paragraph(lead), listed(_unknown(facts)))


def _unknown(facts: Facts) -> Iterator[str]:
    hidden = sum(file.footer == "encrypted" for file in facts.inspection.files)
    if not facts.with_keys:
        if hidden:
            yield (
                f"Of {number(hidden, 'file')} with encrypted footers: names of columns, which key each has, and "
                "whether any is left in plaintext. That needs keys."
            )
        yield "Whether files are whole and authentic: only their ends were looked at, and no tag was compared."
        yield "Whether the keys still exist, and who may use them: no key management system was asked."
    else:
        if facts.opened and facts.opened.sample:
            yield "What the sample left out was not verified."
        unopened = facts.protection.unknown_files if facts.protection else 0
        if unopened:
            yield (
                f"Of {number(unopened, 'file')} whose footers did not open: which columns there are, and whether any "
                "is left in plaintext."
            )
        yield from (
            f"Key {use.master_key or 'not named'}, {use.kind}: less is known than could be ({', '.join(use.problems)})."
            for use in facts.usage or ()
            if use.problems
        )
        yield "Who else may use the keys: that is for the key management system to tell."
    yield "Whether a file is the newest of its name, and whether one is gone: no tag tells that."
    yield "Whether the same data lies elsewhere in plaintext: in copies, backups, logs and temporary files."
