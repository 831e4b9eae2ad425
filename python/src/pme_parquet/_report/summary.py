"""The most important results in a few sentences. A mark next to each says whether it is good."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Literal, NamedTuple

from pme_parquet._display.words import number, size
from pme_parquet._report.html import first, link, tag
from pme_parquet._report.keys import in_bits, master_keys
from pme_parquet._report.protection import in_files
from pme_parquet._report.snapshots import SNAPSHOTS, stated, under_other_keys, without

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pme_parquet._report.facts import Facts
    from pme_parquet._report.html import Html
    from pme_parquet._report.snapshots import Stated

Mark = Literal["good", "bad", "open", "note"]
_MARKS = {"bad": ("!", "Attention"), "open": ("?", "Not known"), "good": ("✓", "Good"), "note": ("•", "Note")}
_ORDER = tuple(_MARKS)
CTR = "AES_GCM_CTR_V1"
_MOST_KEYS = 8
# Sections of the page.
KEYS = "Keys"
UNPROTECTED = "What is not protected"
ORC = "ORC files"
FINDINGS = "Verification and findings"
DIFFERENCES = "Differences between files"


class Sentence(NamedTuple):
    """A sentence of the summary, and the title of the section with the details."""

    mark: Mark
    text: str
    section: str = ""


def lead(facts: Facts) -> str:
    """A line about the table."""
    files = facts.inspection.files
    kinds = Counter("encrypted" if file.encrypted else file.footer or "damaged or unreadable" for file in files)
    ordered = sorted(kinds.items(), key=lambda one: one[0] != "encrypted")
    text = ", ".join(f"{count:,} {kind}" for kind, count in ordered)
    return f"{number(len(files), 'file')}, {size(sum(file.bytes for file in files))}{': ' + text if text else ''}"


def summary(facts: Facts) -> Html:
    """The sentences as a list, with what needs attention first."""
    items = []
    for mark, text, section in sorted(_sentences(facts), key=lambda one: _ORDER.index(one.mark)):
        word = tag("strong", " ".join(_MARKS[mark]), class_="mark-word")
        more = (" ", link(section)) if section else ()
        items.append(tag("li", word, " ", tag("span", text, *more), class_=mark))
    return tag("ul", *items, class_="summary")


def _sentences(facts: Facts) -> Iterator[Sentence]:
    files = facts.inspection.files
    if not files:
        yield Sentence("open", "The table has no files.")
        return
    yield from _files(facts)
    yield from _columns(facts)
    partitions = sorted(partitions_of(facts))
    if partitions:
        names = first(partitions, _MOST_KEYS)
        yield Sentence("bad", f"Partition values are readable in directory names: {names}.", UNPROTECTED)
    yield from _keys(facts)
    if any(file.algorithm == CTR for file in files):
        count = sum(file.algorithm == CTR for file in files)
        within = "it" if count == 1 else "them"
        yield Sentence(
            "bad", f"{_files_are(count)} encrypted with {CTR}: changes to data in {within} are not detected."
        )
    yield from _orc(facts)
    if facts.inspection.drift or (facts.protection and facts.protection.differences()):
        yield Sentence("bad", "Files are protected in different ways.", DIFFERENCES)
    yield from _snapshots(facts)
    yield _verified(facts)
    yield from _policies(facts)
    seen = [problem for problem in facts.problems if not problem.verified]
    if seen:
        without = "" if facts.with_keys else " without keys"
        text = f"{number(len(seen), 'finding')} visible{without}, before any page is read."
        yield Sentence("bad", text, FINDINGS)


def _orc(facts: Facts) -> Iterator[Sentence]:
    files = [file for file in facts.inspection.files if file.orc and file.encrypted]
    if not files:
        return
    yield Sentence(
        "bad",
        f"{number(len(files), 'ORC file')} with encrypted columns: changes to data are not detected, and column names, "
        "row counts and sizes are not secret.",
        ORC,
    )
    masked = sorted({column.name for file in files if file.orc for column in file.orc.encrypted if column.readable})
    if masked:
        text = f"Anyone can learn something about the values of {number(len(masked), 'encrypted ORC column')}"
        yield Sentence("bad", f"{text}: {first(masked, _MOST_KEYS)}.", ORC)


def _keys(facts: Facts) -> Iterator[Sentence]:
    files = facts.inspection.files
    found = master_keys(facts)
    keys = list(dict.fromkeys(key.title for key in found))
    if keys:
        hidden = not facts.usage and any(file.footer == "encrypted" for file in files)
        more = " There may be more, because names of column keys are encrypted." if hidden else ""
        used = "is" if len(keys) == 1 else "are"
        text = f"{number(len(keys), 'master key')} {used} used: {first(keys, _MOST_KEYS)}.{more}"
        unproven = not facts.with_keys or any(use.problems for use in facts.usage or ())
        yield Sentence("open" if more or unproven else "good", text, KEYS)
    if facts.protection and keys:
        kms = facts.protection.kms
        yield Sentence("note", f"Master keys are in: {kms}." if kms else "No KMS was named.")
        masters = set(facts.protection.master_key_bits.values())
        lengths = (
            ("Data keys", {bits for key in found for bits in key.data_key_bits}),
            ("key-encryption keys", {bits for key in found for bits in key.kek_bits}),
            ("master keys", masters),
        )
        text = "; ".join(f"{what}: {in_bits(bits) or 'not visible'}" for what, bits in lengths)
        yield Sentence("note", f"Key lengths. {text}.", KEYS)


def _files(facts: Facts) -> Iterator[Sentence]:
    files = facts.inspection.files
    plain = [file for file in files if file.footer == "plaintext"]
    unknown = sum(file.footer is None for file in files)
    if plain:
        length = size(sum(file.bytes for file in plain))
        yield Sentence(
            "bad",
            f"{_files_are(len(plain))} not encrypted ({length}): anyone with access to the storage can read them.",
        )
    elif not unknown:
        yield from _encrypted(facts)
    if unknown:
        yield Sentence("bad", f"{_files_are(unknown)} damaged or could not be read.")
    signed = sum(file.footer == "signed" for file in files)
    if signed:
        has = "has a readable footer" if signed == 1 else "have readable footers"
        yield Sentence("bad", f"{number(signed, 'file')} {has}: column names, row counts and sizes are not secret.")


def _encrypted(facts: Facts) -> Iterator[Sentence]:
    """Encrypted files say little about columns: the sentence is good only if each column of each file was checked."""
    if facts.protection is None:
        hidden = any(file.footer == "encrypted" for file in facts.inspection.files)
        more = "; whether every column is encrypted is not visible without keys" if hidden else ""
        yield Sentence("open", f"Every file states that it is encrypted{more}.")
    elif facts.protection.unknown_files:
        count = facts.protection.unknown_files
        yield Sentence(
            "open", f"Every file is encrypted, but the columns of {number(count, 'file')} could not be checked."
        )
    elif not facts.protection.readable():
        yield Sentence("good", "Every file is encrypted, and every column of every file.")


def plain_columns(facts: Facts) -> list[str]:
    """Unencrypted columns of encrypted files, as far as known, with the number of their files."""
    counted: Counter[str] = Counter()
    files = [file for file in facts.inspection.files if file.encrypted]
    if facts.protection:
        files_seen = sum(group.files for group in facts.protection.encrypted)
        return list(in_files(facts.protection.readable(), files_seen))
    for file in files:
        counted.update({column.name for column in file.columns or () if column.encrypted_with is None})
    return sorted(in_files(counted, sum(file.columns is not None for file in files)))


def partitions_of(facts: Facts) -> dict[str, set[str]]:
    """Columns whose values are directory names, with these values."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in facts.inspection.files:
        for directory in file.file.split("/")[:-1]:
            name, equals, value = directory.partition("=")
            if equals:
                found[name].add(value)
    return found


def _columns(facts: Facts) -> Iterator[Sentence]:
    plain = plain_columns(facts)
    if plain:
        are = "column is" if len(plain) == 1 else "columns are"
        names = first(plain, _MOST_KEYS)
        yield Sentence("bad", f"{len(plain):,} {are} in plaintext in encrypted files: {names}.", UNPROTECTED)


def _verified(facts: Facts) -> Sentence:
    if facts.opened is None:
        text = "Nothing was verified. This page shows what the files state, and anyone who can write to "
        return Sentence("open", f"{text}the storage can forge that. Run the report with Spark and the keys.")
    found = [problem for problem in facts.problems if problem.verified]
    files, modules = number(facts.opened.files, "file"), number(facts.opened.modules, "module")
    opened = f"{files} checked with keys, {modules} opened"
    part = " in the sample" if facts.opened.sample else ""
    if found:
        files = number(len({problem.file for problem in found}), "file")
        text = f"Verification has {number(len(found), 'finding')} in {files}{part}; {opened}."
        return Sentence("bad", text, FINDINGS)
    return Sentence("good", f"Verification has no findings{part}: {opened}.")


def _policies(facts: Facts) -> Iterator[Sentence]:
    for policy in facts.opened.policies if facts.opened else ():
        if any(problem.verified for problem in facts.problems):
            text = f"Findings of verification include each file that does not follow {policy}."
            yield Sentence("note", text, FINDINGS)
        else:
            yield Sentence("good", f"Every Parquet file that was opened follows {policy}.")


def _snapshots(facts: Facts) -> Iterator[Sentence]:
    """Never good: a snapshot can be older than the last one. A seal is not known only if nobody checked it."""
    names, found = without(facts), stated(facts)
    if names:
        one = len(facts.inspection.tables) == 1
        which = "The table has no snapshot" if one else f"No snapshot: {first(names, _MOST_KEYS)}"
        yield Sentence("note", f"{which}. Files that are added, removed or put back are not noticed.", SNAPSHOTS)
    checked = [_sealed(one) for one in found if one.is_checked(facts)]
    unchecked = [_sealed(one) for one in found if not one.is_checked(facts)]
    if checked:
        text = (
            f"Verification checked the seal of {first(checked, _MOST_KEYS)}, but not whether a newer version existed."
        )
        yield Sentence("note", text, SNAPSHOTS)
    if unchecked:
        text = f"{number(len(unchecked), 'snapshot')} with a seal that inspection does not check"
        yield Sentence("open", f"{text}: {first(unchecked, _MOST_KEYS)}.", SNAPSHOTS)
    others = under_other_keys(facts)
    if others:
        one = len(others) == 1
        which = (
            "1 index is under another key than its column"
            if one
            else f"{len(others):,} indexes are under other keys than their columns"
        )
        learned = "Whoever may use such a key learns about the values, but cannot read the column."
        yield Sentence("bad", f"{which}: {first(others, _MOST_KEYS)}. {learned}", SNAPSHOTS)


def _sealed(one: Stated) -> str:
    return f"{one.name} (version {one.newest.version:,}, {one.newest.algorithm})"


def _files_are(count: int) -> str:
    return f"{number(count, 'file')} {'is' if count == 1 else 'are'}"
