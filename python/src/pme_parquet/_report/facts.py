"""What a report tells, gathered: an inspection, and with Spark a verification, the use of keys, and modules' places."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pme_parquet._inspect import inspection
from pme_parquet._inspect.storage import storage
from pme_parquet._inspect.thrift import MalformedError
from pme_parquet._report.layout import Layout, complete, without_keys
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from pme_parquet._inspect import Inspection
    from pme_parquet._inspect.report import Group
    from pme_parquet._inspect.storage import Found, Storage
    from pme_parquet._report.keyed import Keyed, KeyUse
    from pme_parquet._report.layout import Part
    from pme_parquet._verify import Opened

# Files of which a picture is drawn.
MOST_LAYOUTS = 3


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with a file, seen from outside or by verification.

    Attributes:
        file: where it is, below the table.
        where: the part of it.
        condition: as errors have it.
        message: what is wrong, why, and what to do.
        verified: whether verification found it.
    """

    file: str
    where: str
    condition: str
    message: str
    verified: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a report tells.

    Attributes:
        inspection: what files tell without a key.
        problems: what is wrong, told once.
        layouts: of the first file of each of the largest groups.
        opened: what verification opened; none without Spark.
        usage: which master keys protect what; none without Spark.
    """

    inspection: Inspection
    problems: tuple[Problem, ...]
    layouts: tuple[Layout, ...]
    opened: Opened | None = None
    usage: tuple[KeyUse, ...] | None = None

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
    usage = keyed.usage() if keyed else None
    outside = tuple(_outside(seen, {(one.file, one.condition) for one in verified}))
    places = {one.shown: one for one in found}
    groups = [group for group in seen.groups if group.example.footer is not None][:MOST_LAYOUTS]
    layouts = tuple(_layout(files, places[group.example.file], group, keyed) for group in groups)
    return Facts(seen, (*verified, *outside), layouts, opened, usage)


def _outside(seen: Inspection, known: set[tuple[str, str]]) -> Iterator[Problem]:
    """What can be seen from outside, but for what verification says of the same file."""
    for finding in seen.findings:
        if (finding.file, finding.condition) not in known:
            message = finding.message.removeprefix(f"[{finding.condition}] ")
            yield Problem(finding.file, "", finding.condition, without_file(message, finding.file), verified=False)


def without_file(message: str, file: str) -> str:
    """A message without the file that it begins with, which stands beside it."""
    return message.removeprefix(file).lstrip(",: ")


def _layout(files: Storage, found: Found, group: Group, keyed: Keyed | None) -> Layout:
    file = group.example
    drawn = Layout(file.file, file.bytes, group.files, ())
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
