"""What a report tells, gathered: an inspection, and with Spark a verification, the use of keys, and modules' places."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pme_parquet._inspect import inspection
from pme_parquet._inspect.storage import storage
from pme_parquet._inspect.thrift import MalformedError
from pme_parquet._inspect.words import number
from pme_parquet._report.layout import Layout, complete, without_keys
from pme_parquet.errors import PlaintextFileError, PmeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from pme_parquet._inspect import Inspection
    from pme_parquet._inspect.report import InspectedFile
    from pme_parquet._inspect.storage import Found, Storage
    from pme_parquet._report.keyed import Keyed, KeyUse
    from pme_parquet._report.layout import Part
    from pme_parquet._report.protection import Protection
    from pme_parquet._verify import Opened

# Files of which a picture is drawn.
MOST_LAYOUTS = 3
# What stands in the place of an error's condition where files are sound and yet not what they should be.
READABLE = "readable column"
DIFFERENT = "difference"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with a file, seen from outside or by verification.

    Attributes:
        file: where it is, below the table.
        where: the part of it.
        condition: as errors have it, or what differs.
        message: what is wrong, why, and what to do.
        found_by: what looked: verification opens modules, `footers` compares what they say of columns.
        column: the column it is about, if it is one.
    """

    file: str
    where: str
    condition: str
    message: str
    found_by: Literal["verification", "footers", "inspection"]
    column: str | None = None

    @property
    def verified(self) -> bool:
        """Whether verification found it."""
        return self.found_by == "verification"


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a report tells.

    Attributes:
        inspection: what files tell without a key.
        problems: what is wrong, told once.
        layouts: of the first file of each of the largest groups.
        opened: what verification opened; none without Spark.
        usage: which master keys protect what; none without Spark.
        protection: what protects each column of each file; none without Spark.
    """

    inspection: Inspection
    problems: tuple[Problem, ...]
    layouts: tuple[Layout, ...]
    opened: Opened | None = None
    usage: tuple[KeyUse, ...] | None = None
    protection: Protection | None = None

    @property
    def with_keys(self) -> bool:
        """Whether anything was opened."""
        return self.opened is not None


def gather(where: str, storage_options: Mapping[str, Any] | None, keyed: Keyed | None) -> Facts:
    """Looks at a table; with keys all of it is opened, or a sample."""
    files = storage(where, storage_options)
    found = tuple(files.files())
    seen = inspection(where, files, found)
    names = {one.file for one in seen.files}
    verified, opened = keyed.verified(names) if keyed else ((), None)
    usage, protection = keyed.usage(names) if keyed else (None, None)
    outside = tuple(_outside(seen, {(one.file, one.condition) for one in verified}))
    places = {one.shown: one for one in found}
    drawn = [one for one in _examples(seen, protection) if one[0].footer is not None][:MOST_LAYOUTS]
    layouts = tuple(_layout(files, places[file.file], file, alike, keyed) for file, alike in drawn)
    different = tuple(unlike(protection, verified)) if protection else ()
    return Facts(seen, (*different, *verified, *outside), layouts, opened, usage, protection)


def _examples(seen: Inspection, protection: Protection | None) -> Iterator[tuple[InspectedFile, int]]:
    """The first file of each group, and how many are like it: by what keys show, or else by what can be seen."""
    if protection is None:
        yield from ((group.example, group.files) for group in seen.groups)
        return
    named = {file.file: file for file in seen.files}
    # A file that came, or was renamed, between the two looks is in no picture.
    yield from ((named[group.first], group.files) for group in protection.groups if group.first in named)


def unlike(protection: Protection, verified: Sequence[Problem]) -> Iterator[Problem]:
    """Columns that are readable in encrypted files, and those that are not protected alike; but none told already."""
    same = protection.column
    told = {same(one.column) for one in verified if one.condition == PlaintextFileError.condition and one.column}
    files = sum(group.files for group in protection.encrypted)
    differences = protection.differences()
    differing = {same(column) for one in differences for column in one.columns}
    for column, count in protection.readable().items():
        if same(column) not in told | differing:
            message = (
                f"it is not encrypted in {count:,} of {number(files, 'encrypted file')}: whoever has the storage reads "
                "its values and statistics. If that is not meant, encrypt it with pme.rekey, whose keys name it."
            )
            yield Problem(protection.first_with(column), f"column {column}", READABLE, message, "footers", column)
    for one in differences:
        columns = tuple(column for column in one.columns if same(column) not in told)
        if columns:
            kind = READABLE if one.ways[0][0] == "readable" else DIFFERENT
            advice = "Find out who wrote them so; pme.rekey gives all files the same keys."
            where = f"column {', '.join(columns)}"
            yield Problem("", where, kind, f"{one._replace(columns=columns).told} {advice}", "footers")


def _outside(seen: Inspection, known: set[tuple[str, str]]) -> Iterator[Problem]:
    """What can be seen from outside, but for what verification says of the same file."""
    for finding in seen.findings:
        if (finding.file, finding.condition) not in known:
            message = finding.message.removeprefix(f"[{finding.condition}] ")
            yield Problem(finding.file, "", finding.condition, without_file(message, finding.file), "inspection")


def without_file(message: str, file: str) -> str:
    """A message without the file that it begins with, which stands beside it."""
    return message.removeprefix(file).lstrip(",: ")


def _layout(files: Storage, found: Found, file: InspectedFile, alike: int, keyed: Keyed | None) -> Layout:
    drawn = Layout(file.file, file.bytes, alike, ())
    try:
        parts: Sequence[Part] = without_keys(files, found, file)
    except (PmeError, MalformedError):
        return replace(drawn, parts=complete((), file.bytes), note="What its end says of its parts cannot be read.")
    note = "Drawn without keys." if file.encrypted else ""
    if keyed:
        modules, failure = keyed.modules(found, file)
        if failure:
            note = f"Drawn without keys: {without_file(failure, file.file)}"
        else:
            note = ""
            parts = [*(part for part in parts if part.column is None and part.state != "hidden"), *modules]
    return replace(drawn, parts=complete(parts, file.bytes), note=note)
