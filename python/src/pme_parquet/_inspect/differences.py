"""How the files of a table differ: groups of similar files, sentences about the others, plaintext among encrypted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from pme_parquet._display.words import printable
from pme_parquet._inspect import problems
from pme_parquet._inspect.inspected import Finding, Group, InspectedFile, Key
from pme_parquet._inspect.view import key_id

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

_MOST_SENTENCES = 20
# A file can have more than one of these.
_SEVERAL = {"column key", "bits", "kek bits", "wrapping", "material"}
_OF_ONE = {"have": "has", "are": "is"}
_PHRASES = {
    "encrypted": "have an encrypted footer",
    "signed": "have a signed plaintext footer",
    "plaintext": "are plaintext",
    "unsigned": "have encrypted columns and an unsigned footer",
    None: "are damaged or could not be read",
    "none": "have no AAD prefix",
    "stored": "have an AAD prefix in the file",
    "required": "have an AAD prefix that readers must set",
}


def with_intruders(files: Sequence[InspectedFile]) -> tuple[InspectedFile, ...]:
    """The files, with a finding for each that is plaintext where others are encrypted."""
    encrypted = sum(file.encrypted for file in files)
    if not encrypted:
        return tuple(files)
    return tuple(_intruder(file, encrypted) if file.footer == "plaintext" else file for file in files)


def _intruder(file: InspectedFile, encrypted: int) -> InspectedFile:
    error = problems.plaintext(file.file, encrypted)
    return replace(file, findings=(*file.findings, Finding(file.file, error.condition, printable(error.message))))


def groups(files: Sequence[InspectedFile]) -> tuple[Group, ...]:
    """The files grouped by their visible encryption; the largest group first."""
    alike: dict[Hashable, list[InspectedFile]] = {}
    for file in files:
        alike.setdefault(_visible_encryption(file), []).append(file)
    found = (Group(len(same), sum(file.bytes for file in same), same[0]) for same in alike.values())
    return tuple(sorted(found, key=lambda group: -group.files))


def drift(files: Sequence[InspectedFile]) -> tuple[str, ...]:
    """How files differ from the others, in sentences; rarest first."""
    # Names that differ only in letter case are one column, as in Spark; sentences use the first spelling.
    names = [column.name for file in files if file.encrypted for column in file.columns or ()]
    spelt = {name.lower(): name for name in reversed(names)}
    counts = Counter(phrase for file in files for phrase in set(_phrases(file, spelt)))
    usual = {aspect: phrase for (aspect, phrase), _ in reversed(counts.most_common())}
    having = Counter(aspect for file in files for aspect in {aspect for aspect, _ in _phrases(file, spelt)})
    unlike = sorted(
        (count, phrase)
        for (aspect, phrase), count in counts.items()
        if (count < having[aspect] if aspect in _SEVERAL else phrase != usual[aspect])
    )
    sentences = [printable(f"{count:,} of {len(files):,} files {_agreeing(phrase, count)}") for count, phrase in unlike]
    more = len(sentences) - _MOST_SENTENCES
    return (*sentences[:_MOST_SENTENCES], *([f"and {more} more differences"] if more > 0 else ()))


def _agreeing(phrase: str, count: int) -> str:
    verb, rest = phrase.split(" ", 1)
    return f"{_OF_ONE.get(verb, f'{verb}s')} {rest}" if count == 1 else phrase


def _phrases(file: InspectedFile, spelt: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Aspects in which files can differ, each with the end of a sentence."""
    yield "footer", _PHRASES[file.footer]
    if file.footer:
        yield "format", f"have the format {'ORC' if file.orc else 'Parquet'}"
    if file.algorithm and (file.aad_prefix or file.orc):
        yield "algorithm", f"are encrypted with {file.algorithm}"
    if file.algorithm and file.aad_prefix:
        yield "prefix", _PHRASES[file.aad_prefix]
    if file.footer_key:
        yield "footer key", f"use {key_id(file.footer_key)} for the footer"
    for key in file.column_keys:
        yield "column key", f"use {key_id(key)}"
    for key in file.keys:
        yield from _of_key(key)
    for column in (file.encrypted and file.columns) or ():
        name = spelt[column.name.lower()]
        yield (
            f"column {name}",
            f"encrypt column '{name}'" if column.encrypted_with else f"leave column '{name}' readable",
        )
    for masked in file.orc.encrypted if file.orc else ():
        yield (
            f"mask {masked.name}",
            f"mask column '{spelt[masked.name.lower()]}' with {masked.mask or 'an unknown mask'}",
        )


def _of_key(key: Key) -> Iterator[tuple[str, str]]:
    if key.data_key_bits:
        yield "bits", f"have data keys of {key.data_key_bits} bits"
    if key.kek_bits:
        yield "kek bits", f"have key-encryption keys of {key.kek_bits} bits"
    if key.management == "envelope":
        yield "wrapping", f"wrap data keys {'twice' if key.double_wrapping else 'once'}"
        yield "material", f"keep key material {'in' if key.material == 'internal' else 'beside'} the file"


def _visible_encryption(file: InspectedFile) -> Hashable:
    """The visible encryption of a file, without what differs in every file: sizes and ids of key-encryption keys."""
    conditions = tuple(sorted({finding.condition for finding in file.findings}))
    if not file.encrypted:
        return file.footer, bool(file.orc), conditions
    columns = tuple((c.path, c.encrypted_with, _same(c.key)) for c in file.columns) if file.columns else ()
    keys = frozenset(_same(key) for key in file.column_keys)
    masks = tuple((one.name, one.mask) for one in file.orc.encrypted) if file.orc else None
    return file.footer, file.algorithm, file.aad_prefix, _same(file.footer_key), columns, keys, masks, conditions


def _same(key: Key | None) -> Key | None:
    return key and replace(key, kek_id=None, reference=None)
