"""What matters most, in a few sentences, each with a mark that says whether it is good."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

from pme_parquet._inspect.words import number, size
from pme_parquet._report.html import first, tag
from pme_parquet._report.keys import master_keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pme_parquet._report.facts import Facts
    from pme_parquet._report.html import Html

Mark = Literal["good", "bad", "open"]
_MARKS = {"good": ("✓", "Good"), "bad": ("!", "Attention"), "open": ("?", "Not known")}
CTR = "AES_GCM_CTR_V1"
_MOST_KEYS = 8


class Sentence(NamedTuple):
    """One of them."""

    mark: Mark
    text: str


def lead(facts: Facts) -> str:
    """The table in a line."""
    files = facts.inspection.files
    kinds = Counter("encrypted" if file.encrypted else file.footer or "damaged or unreadable" for file in files)
    ordered = sorted(kinds.items(), key=lambda one: one[0] != "encrypted")
    told = ", ".join(f"{count:,} {kind}" for kind, count in ordered)
    return f"{number(len(files), 'file')}, {size(sum(file.bytes for file in files))}{': ' + told if told else ''}"


def summary(facts: Facts) -> Html:
    """The sentences as a list."""
    items = []
    for mark, text in _sentences(facts):
        word = tag("strong", " ".join(_MARKS[mark]), class_="mark-word")
        items.append(tag("li", word, " ", tag("span", text), class_=mark))
    return tag("ul", *items, class_="summary")


def _sentences(facts: Facts) -> Iterator[Sentence]:
    files = facts.inspection.files
    if not files:
        yield Sentence("open", "There is no file in it.")
        return
    yield from _files(facts)
    yield from _columns(facts)
    keys = list(dict.fromkeys(key.title for key in master_keys(facts)))
    if keys:
        hidden = not facts.usage and any(file.footer == "encrypted" for file in files)
        more = " Keys of single columns can be more: their names are encrypted." if hidden else ""
        used = "is" if len(keys) == 1 else "are"
        told = f"{number(len(keys), 'master key')} {used} used: {first(keys, _MOST_KEYS)}.{more}"
        yield Sentence("open" if more else "good", told)
    if any(file.algorithm == CTR for file in files):
        count = sum(file.algorithm == CTR for file in files)
        within = "it" if count == 1 else "them"
        yield Sentence("bad", f"{_files_are(count)} encrypted by {CTR}: altered data in {within} is not noticed.")
    if facts.inspection.drift:
        yield Sentence("bad", "The files differ in how they are protected; below is how.")
    yield _verified(facts)
    outside = [problem for problem in facts.problems if not problem.verified]
    if outside:
        yield Sentence("bad", f"{number(len(outside), 'finding')} can be seen without keys; below is what to do.")


def _files(facts: Facts) -> Iterator[Sentence]:
    files = facts.inspection.files
    plain = [file for file in files if file.footer == "plaintext"]
    unknown = sum(file.footer is None for file in files)
    if plain:
        length = size(sum(file.bytes for file in plain))
        yield Sentence("bad", f"{_files_are(len(plain))} not encrypted ({length}): whoever has the storage reads them.")
    elif not unknown:
        yield Sentence("good", "Every file is encrypted.")
    if unknown:
        yield Sentence("bad", f"{_files_are(unknown)} damaged or could not be read.")
    signed = sum(file.footer == "signed" for file in files)
    if signed:
        has = "has a readable footer" if signed == 1 else "have readable footers"
        yield Sentence("bad", f"{number(signed, 'file')} {has}: names of columns, row counts and sizes are no secret.")


def plain_columns(facts: Facts) -> set[str]:
    """Columns of encrypted files that are not encrypted, as far as that was seen."""
    files = [file for file in facts.inspection.files if file.encrypted]
    seen = {column.path for file in files for column in file.columns or () if column.encrypted_with is None}
    # Of readable footers all is seen, by the names that columns have there.
    hidden = {file.file for file in files if file.footer == "encrypted"}
    drawn = (layout for layout in facts.layouts if layout.file in hidden)
    return seen | {column for layout in drawn for column, _, state in layout.of_columns() if state == "plaintext"}


def _columns(facts: Facts) -> Iterator[Sentence]:
    plain = sorted(plain_columns(facts))
    if plain:
        are = "column is" if len(plain) == 1 else "columns are"
        yield Sentence("bad", f"{len(plain):,} {are} left in plaintext in encrypted files: {first(plain, _MOST_KEYS)}.")


def _verified(facts: Facts) -> Sentence:
    if facts.opened is None:
        told = "Nothing was verified: this page tells what the files say of themselves, and anyone who can write to "
        return Sentence("open", f"{told}the storage can make them say it. Run the report with Spark and the keys.")
    found = [problem for problem in facts.problems if problem.verified]
    files, modules = number(facts.opened.files, "file"), number(facts.opened.modules, "module")
    opened = f"{files} looked at with the keys, {modules} in them opened"
    part = " in the sample that was looked at" if facts.opened.sample else ""
    if found:
        files = number(len({problem.file for problem in found}), "file")
        return Sentence("bad", f"Verification has {number(len(found), 'finding')} in {files}{part}; {opened}.")
    return Sentence("good", f"Verification found nothing wrong{part}: {opened}.")


def _files_are(count: int) -> str:
    return f"{number(count, 'file')} {'is' if count == 1 else 'are'}"
