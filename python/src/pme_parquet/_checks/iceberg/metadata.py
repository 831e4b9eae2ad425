"""What the files `*.metadata.json` of a table say. Anyone can read them: Iceberg encrypts none."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pme_parquet._storage import UnreadableError, strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pme_parquet._checks.results import Findings

KEY = "encryption.key-id"
MAX_BYTES = 32 * 1024 * 1024
MAX_NAME = 1024
MAX_COLUMNS = 100_000
# Characters of names of all columns in all schemas of a version.
MAX_NAMES = 64 * 1024 * 1024
_DEPTH = 64
_GZIP = b"\x1f\x8b"
# Only files directly in `metadata` are versions: anything else may be a file of another table.
_NAME = re.compile(r"metadata/v?([0-9]{1,18})(?:-[^/]*)?\.(?:gz\.)?metadata\.json(?:\.gz)?")
# A place below something: `s3:` alone would make each path one below the table.
_LOCATION = re.compile(r"(?:[A-Za-z][\w+.-]*:)?/{1,3}[^/].*")
# Of a value, a bucket shows a hash, and `void` nothing.
_LITTLE = ("bucket", "void")
_ELSEWHERE = ("write.data.path", "write.metadata.path", "write.folder-storage.path", "write.object-storage.path")
_DEFAULTS = ("initial-default", "write-default")
MAX_TEXT = 8 * 1024


@dataclass(frozen=True)
class Metadata:
    """What a check keeps of one version of a table.

    Attributes:
        file: its path below the table.
        number: the number in its name.
        uuid: of the table; None if it says none.
        location: of the table, without a slash at its end; empty if it is none.
        key: the master key that it names.
        has_keys: whether it holds wrapped keys.
        has_snapshot: whether it has one, so that files of data may belong to it.
        manifest_list: the path of the current snapshot's list of manifests.
    """

    file: str
    number: int
    uuid: str | None
    location: str
    key: str | None
    has_keys: bool
    has_snapshot: bool
    manifest_list: str | None

    def below(self, path: str) -> str | None:
        """The part of a full path below the table; None if it is elsewhere."""
        inside = self.location and path.startswith(self.location + "/")
        return path[len(self.location) + 1 :] if inside else None


@dataclass
class Names:
    """Names in all versions of a table.

    Attributes:
        columns: names of columns by their numbers, those in structs as `address.city`.
        partitions: by names of partition fields: the column, and whether its value itself, or a part of it, is a
            partition's.
    """

    columns: dict[int, str] = field(default_factory=dict)
    partitions: dict[str, tuple[str, bool]] = field(default_factory=dict)

    def add(self, document: Mapping[str, Any]) -> set[str]:
        """Adds those of a version, and returns the columns that have a default value.

        Raises:
            UnreadableError: they are too many, too long or too deep.
        """
        left, defaults = MAX_NAMES, set()
        for number, name, has_default in _columns(document):
            left -= len(name) + 1
            if left < 0 or len(self.columns) > MAX_COLUMNS:
                raise UnreadableError("it names too many columns")
            self.columns[number] = name
            if has_default:
                defaults.add(name)
        for spec in _dicts(document.get("partition-specs")):
            for one in _dicts(spec.get("fields")):
                name = text(one.get("name"), "partition field")
                whole = not str(one.get("transform")).startswith(_LITTLE) or self.partitions.get(name, ("", False))[1]
                self.partitions[name] = (self.columns.get(_number(one.get("source-id")), "*"), whole)
        if len(self.partitions) > MAX_COLUMNS:
            raise UnreadableError("it names too many partition fields")
        return defaults


def number_of(file: str) -> int | None:
    """The number of a table's version in the name of a file; None if it is another file."""
    found = _NAME.fullmatch(file)
    return int(found[1]) if found else None


def understood(file: str, names: Names, findings: Findings, content: bytes) -> Metadata:
    """One version of a table; adds its names, and what it shows of values.

    Raises:
        UnreadableError: it is none, or something in it is of another type, too long or too deep.
    """
    document = _parsed(file, content)
    made = _version(file, document)
    _search(findings, names, made, document)
    return made


def _parsed(file: str, content: bytes) -> dict[str, Any]:
    try:
        document = strict_json(_unpacked(content) if content.startswith(_GZIP) else content)
    except (OSError, EOFError, zlib.error):
        raise UnreadableError("it cannot be unpacked") from None
    if not isinstance(document, dict) or "format-version" not in document or number_of(file) is None:
        raise UnreadableError("it is not metadata of an Iceberg table")
    return document


def _version(file: str, document: Mapping[str, Any]) -> Metadata:
    location = text(document.get("location", ""), "location").rstrip("/")
    uuid = document.get("table-uuid")
    properties = _properties(document)
    current, listed = document.get("current-snapshot-id"), None
    snapshots = _dicts(document.get("snapshots"))
    for snapshot in snapshots:
        if snapshot.get("snapshot-id") == current and snapshot.get("manifest-list") is not None:
            listed = text(snapshot["manifest-list"], "manifest list")
    return Metadata(
        file=file,
        number=number_of(file) or 0,
        uuid=None if uuid is None else text(uuid, "table-uuid"),
        location=location if _LOCATION.fullmatch(location) else "",
        key=text(properties[KEY], KEY) if KEY in properties else None,
        has_keys=bool(_dicts(document.get("encryption-keys"))),
        has_snapshot=bool(snapshots) or _number(current) >= 0,
        manifest_list=listed,
    )


def _unpacked(content: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        unpacked = file.read(MAX_BYTES + 1)
    if len(unpacked) > MAX_BYTES:
        raise UnreadableError(f"it is longer than {MAX_BYTES // 1024 // 1024} MiB")
    return unpacked


def _search(findings: Findings, names: Names, one: Metadata, document: Mapping[str, Any]) -> None:
    defaults = names.add(document)
    if defaults:
        findings.add("default", "low", one.file, "its default value is readable", *sorted(defaults))
    summaries = _dicts([snapshot.get("summary") for snapshot in _dicts(document.get("snapshots"))])
    if any(name.startswith("partitions.") for summary in summaries for name in summary):
        columns = sorted({column for column, _ in names.partitions.values()})
        what = "summaries of snapshots name partitions by their values"
        findings.add("partition value", "high", one.file, what, *(columns or ["*"]))
    for statistics in _dicts(document.get("statistics")):
        for blob in _dicts(statistics.get("blob-metadata")):
            numbers = blob.get("fields")
            columns = [names.columns.get(_number(at), "*") for at in numbers] if isinstance(numbers, list) else ["*"]
            if isinstance(blob.get("properties"), dict) and "ndv" in blob["properties"]:
                findings.add("statistics", "low", one.file, "its number of distinct values is readable", *columns)
    properties = _properties(document)
    for name in _ELSEWHERE:
        if properties.get(name) and one.below(str(properties[name])) is None:
            what = f"the property {name} puts files elsewhere; they were not looked at"
            findings.add("outside path", "unread", one.file, what)


def _properties(document: Mapping[str, Any]) -> dict[str, Any]:
    found = document.get("properties")
    return found if isinstance(found, dict) else {}


# The number and name of a column, and whether it has a default value.
_Column = tuple[int, str, bool]


def _columns(document: Mapping[str, Any]) -> Iterator[_Column]:
    for schema in [*_dicts(document.get("schemas")), *_dicts([document.get("schema")])]:
        yield from _fields(schema, "", 0)


def _fields(schema: object, above: str, depth: int) -> Iterator[_Column]:
    """The columns in a type of Iceberg's."""
    if not isinstance(schema, dict):
        return
    if depth > _DEPTH or len(above) > MAX_NAME:
        raise UnreadableError("its schema has too deep structs, or too long names")
    for one in _dicts(schema.get("fields")):
        name = f"{above}{text(one.get('name'), 'name of a column')}"
        yield _number(one.get("id")), name, any(one.get(default) is not None for default in _DEFAULTS)
        yield from _fields(one.get("type"), f"{name}.", depth + 1)
    for part in ("element", "key", "value"):
        if f"{part}-id" in schema:
            yield _number(schema[f"{part}-id"]), f"{above}{part}", False
            yield from _fields(schema.get(part), f"{above}{part}.", depth + 1)


def _number(value: object) -> int:
    return value if isinstance(value, int) else -1


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: object, what: str) -> str:
    """A text of a document.

    Raises:
        UnreadableError: it is none, or longer than `MAX_TEXT`.
    """
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise UnreadableError(f"its {what} is no text, or a very long one")
    return value
