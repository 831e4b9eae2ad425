"""The facts of a report: an inspection, and with Spark a verification, the key usage, and the places of modules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pme_parquet._inspect import inspection
from pme_parquet._inspect.thrift import MalformedError
from pme_parquet._report.layout import Layout, complete, without_keys
from pme_parquet._report.problems import outside, unlike, without_file
from pme_parquet._storage import storage
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pme_parquet._access import Access
    from pme_parquet._inspect import Inspection
    from pme_parquet._inspect.inspected import InspectedFile
    from pme_parquet._operations.verify import Opened
    from pme_parquet._report.keyed import Keyed, KeyUse
    from pme_parquet._report.layout import Part
    from pme_parquet._report.problems import Problem
    from pme_parquet._report.protection import Protection
    from pme_parquet._storage import Found, Storage

# Number of files with a picture.
MOST_LAYOUTS = 3


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts of a report.

    Attributes:
        inspection: what files show without a key.
        problems: what is wrong, each listed once.
        layouts: of the first file of each of the largest groups.
        opened: what verification opened; none without Spark.
        usage: which master keys protect what; none without Spark.
        protection: what protects each column of each file; none without Spark.
        seal_checked: whether verification checked the seal of the table at the report's path, if it has one.
    """

    inspection: Inspection
    problems: tuple[Problem, ...]
    layouts: tuple[Layout, ...]
    opened: Opened | None = None
    usage: tuple[KeyUse, ...] | None = None
    protection: Protection | None = None
    seal_checked: bool = False

    @property
    def with_keys(self) -> bool:
        """Whether anything was opened."""
        return self.opened is not None


def gather(where: str, reached: Access, keyed: Keyed | None) -> Facts:
    """Inspects a table; with keys, verifies all of it or a sample."""
    files = storage(where, reached.options)
    found = tuple(files.files())
    seen = inspection(where, files, found, reached, keyed.spark if keyed else None)
    names = {one.file for one in seen.files}
    verified, opened = keyed.verified(names) if keyed else ((), None)
    usage, protection = keyed.usage(names) if keyed else (None, None)
    visible = tuple(outside(seen.findings, {(one.file, one.condition) for one in verified}))
    places = {one.shown: one for one in found}
    # Stripes of ORC files have all columns in each of their parts.
    known = [one for one in _examples(seen, protection) if one[0].footer is not None and one[0].orc is None]
    drawn = known[:MOST_LAYOUTS]
    layouts = tuple(_layout(files, places[file.file], file, alike, keyed) for file, alike in drawn)
    different = tuple(unlike(protection, verified)) if protection else ()
    checked = keyed is not None and keyed.checks_seals()
    return Facts(seen, (*different, *verified, *visible), layouts, opened, usage, protection, checked)


def _examples(seen: Inspection, protection: Protection | None) -> Iterator[tuple[InspectedFile, int]]:
    """The first file of each group, and how many are like it: by what keys show, or else by what is visible."""
    if protection is None:
        yield from ((group.example, group.files) for group in seen.groups)
        return
    named = {file.file: file for file in seen.files}
    # A file that was added or renamed between the two passes is in no picture.
    yield from ((named[group.first], group.files) for group in protection.groups if group.first in named)


def _layout(files: Storage, found: Found, file: InspectedFile, alike: int, keyed: Keyed | None) -> Layout:
    drawn = Layout(file.file, file.bytes, alike, ())
    try:
        parts: Sequence[Part] = without_keys(files, found, file)
    except (PmeError, MalformedError):
        return replace(
            drawn, parts=complete((), file.bytes), note=("The position of its parts cannot be read from its end.")
        )
    note = "Layout without keys." if file.encrypted else ""
    if keyed:
        modules, failure = keyed.modules(found, file)
        if failure:
            note = f"Layout without keys: {without_file(failure, file.file)}"
        else:
            note = ""
            parts = [*(part for part in parts if part.column is None and part.state != "hidden"), *modules]
    return replace(drawn, parts=complete(parts, file.bytes), note=note)
