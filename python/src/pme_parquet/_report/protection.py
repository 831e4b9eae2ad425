"""The protection of each column of each file, as keys show it: similar files, and columns that differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from pme_parquet._audience import Words
from pme_parquet._display.words import number
from pme_parquet.errors import PlaintextFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pme_parquet._inspect.inspected import Finding

Kind = Literal["footer key", "column key", "plaintext"]
State = Literal["encrypted", "plaintext", "unknown"]
# Used in place of an error's condition if files are sound but do not match each other.
READABLE = "readable column"
DIFFERENT = "difference"


class Protected(NamedTuple):
    """A column and its protection."""

    column: str
    kind: Kind
    master_key: str | None

    @property
    def in_words(self) -> str:
        """The protection in words."""
        if self.kind == "plaintext":
            return "readable"
        name = self.master_key or "not named"
        return f"footer key {name}" if self.kind == "footer key" else f"key {name}"


@dataclass(frozen=True, slots=True)
class Alike:
    """Files whose columns are all protected alike.

    Attributes:
        files: number of files.
        bytes: size of all of them.
        first: path of the first of them below the table.
        state: `unknown` if footers did not open.
        columns: a column that row groups of a file protect differently is there more than once.
    """

    files: int
    bytes: int
    first: str
    state: State
    columns: tuple[Protected, ...]

    @property
    def in_words(self) -> str:
        """Its columns grouped by protection; readable ones first."""
        if self.state == "unknown":
            return "not known: the footer cannot be opened"
        if self.state == "plaintext":
            return "readable: the file is not encrypted"
        by: dict[tuple[bool, str], list[str]] = defaultdict(list)
        for one in self.columns:
            by[one.kind != "plaintext", one.in_words].append(one.column)
        return "; ".join(f"{way}: {', '.join(sorted(names))}" for (_, way), names in sorted(by.items())) or "none"


class Difference(NamedTuple):
    """Columns that are protected in several ways, which are the same for all of them."""

    columns: tuple[str, ...]
    ways: tuple[tuple[str, int], ...]

    @property
    def in_words(self) -> str:
        """The difference as a sentence."""
        verb = "Column {} is" if len(self.columns) == 1 else "Columns {} are"
        ways = ", ".join(f"{_way(way)} in {number(files, 'file')}" for way, files in self.ways)
        return f"{verb.format(', '.join(self.columns))} {ways}."


@dataclass(frozen=True, slots=True)
class Protection:
    """The protection of all verified files, and the keys used.

    Attributes:
        groups: the largest first.
        kms: the KMS that was asked; None if none was named.
        master_key_bits: lengths of master keys, if the KMS reports them.
        case_sensitive: whether columns whose names differ in letter case alone are several. Where they are one, all
            groups have the same spelling of it.
    """

    groups: tuple[Alike, ...]
    kms: str | None
    master_key_bits: Mapping[str, int]
    case_sensitive: bool = False

    @property
    def encrypted(self) -> list[Alike]:
        """Groups of encrypted files with footers that opened."""
        return [group for group in self.groups if group.state == "encrypted"]

    @property
    def unknown_files(self) -> int:
        """The number of files with unknown columns."""
        return sum(group.files for group in self.groups if group.state == "unknown")

    def column(self, name: str) -> str:
        """A form that two spellings of a column share: verification may meet another spelling first."""
        return name if self.case_sensitive else name.lower()

    def readable(self) -> dict[str, int]:
        """Columns without a key, with the number of encrypted files in which they are readable."""
        return dict(sorted(self._files("plaintext").items()))

    def differences(self) -> list[Difference]:
        """Columns that are not protected alike in all encrypted files that contain them; readable ones first."""
        ways: dict[str, Counter[str]] = defaultdict(Counter)
        for group in self.encrypted:
            for one in group.columns:
                ways[one.column][one.in_words] += group.files
        alike: dict[tuple[tuple[str, int], ...], list[str]] = defaultdict(list)
        for column, counted in sorted(ways.items()):
            if len(counted) > 1:
                alike[tuple(sorted(counted.items(), key=lambda way: (way[0] != "readable", way[0])))].append(column)
        found = [Difference(tuple(columns), way) for way, columns in alike.items()]
        return sorted(found, key=lambda one: (one.ways[0][0] != "readable", one.columns))

    def _files(self, kind: Kind) -> Counter[str]:
        found: Counter[str] = Counter()
        for group in self.encrypted:
            for column in {one.column for one in group.columns if one.kind == kind}:
                found[column] += group.files
        return found

    def first_with(self, column: str) -> str:
        """The first file of the largest group in which a column is readable."""
        return next(group.first for group in self.encrypted if Protected(column, "plaintext", None) in group.columns)


def _way(way: str) -> str:
    return way if way == "readable" else f"encrypted with {way}"


def in_files(counted: Mapping[str, int], files: int) -> Sequence[str]:
    """Columns, each with its number of files, unless that is all files."""
    return [
        column if count == files else f"{column} (in {count:,} of {number(files, 'file')})"
        for column, count in counted.items()
    ]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with a file, seen from outside or by verification.

    Attributes:
        file: where it is, below the table.
        where: the part of the file.
        condition: as of an error, or what differs.
        message: what is wrong, why, and what to do.
        found_by: the check: verification opens modules, `footers` compares what they say about columns.
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


def unlike(protection: Protection, verified: Sequence[Problem]) -> Iterator[Problem]:
    """Columns that are readable in encrypted files or protected differently, except those that are already listed."""
    same = protection.column
    listed = {same(one.column) for one in verified if one.condition == PlaintextFileError.condition and one.column}
    files = sum(group.files for group in protection.encrypted)
    differences = protection.differences()
    differing = {same(column) for one in differences for column in one.columns}
    for column, count in protection.readable().items():
        if same(column) not in listed | differing:
            message = (
                f"it is not encrypted in {count:,} of {number(files, 'encrypted file')}: anyone with access to the "
                f"storage can read its values and statistics. If that is not intended, encrypt it with "
                f"{Words('pme.rekey')} and keys that name it."
            )
            yield Problem(protection.first_with(column), f"column {column}", READABLE, message, "footers", column)
    for one in differences:
        columns = tuple(column for column in one.columns if same(column) not in listed)
        if columns:
            kind = READABLE if one.ways[0][0] == "readable" else DIFFERENT
            advice = f"Find out who wrote these files. To give all files the same keys, use {Words('pme.rekey')}."
            where = f"column {', '.join(columns)}"
            yield Problem("", where, kind, f"{one._replace(columns=columns).in_words} {advice}", "footers")


def outside(findings: Iterable[Finding], known: set[tuple[str, str]]) -> Iterator[Problem]:
    """Problems visible without keys, except those of files for which verification reports the same."""
    for finding in findings:
        if (finding.file, finding.condition) not in known:
            message = finding.message.removeprefix(f"[{finding.condition}] ")
            yield Problem(finding.file, "", finding.condition, without_file(message, finding.file), "inspection")


def without_file(message: str, file: str) -> str:
    """A message without the file at its beginning, because the report shows the file next to it."""
    return message.removeprefix(file).lstrip(",: ")
