"""Reads the manifest of a snapshot: its content and its seal, a line each (docs/snapshot-format.md, "Manifest")."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING

from pme_parquet._snapshots.fields import MAX_NUMBER, Fields, MalformedError, parsed
from pme_parquet._snapshots.version import (
    Index,
    SnapshotColumn,
    SnapshotErasure,
    SnapshotIndexFile,
    SnapshotPart,
    SnapshotPolicy,
    SnapshotVersion,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MAX_BYTES = 16 * 1024 * 1024
# Of the seal with its line feeds.
MAX_SEAL_BYTES = 64 * 1024
FORMAT = "pme-parquet snapshot"
# The formats that data files may have in each version of the format of manifests.
_FILE_FORMATS = {1: ("parquet",), 2: ("orc",), 3: ("parquet", "orc"), 4: ("parquet", "orc")}
HMAC = "HMAC-SHA256"
# The length of a seal's value: a DER signature of P-256 has at most 72 bytes, and two numbers of at least one.
_SEAL_BYTES = {"Ed25519": range(64, 65), "SHA256withECDSA": range(8, 73), HMAC: range(32, 33)}

_SHA256 = "[0-9a-f]{64}"
_UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_INSTANT = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z"
_PART_NAME = rf"part-{_UUID}\.parquet"
_INDEX_NAME = rf"index-{_UUID}\.parquet"
_INDEX_FIELD = r"index_\d{1,4}"

_CONTENT = frozenset(
    {
        "format",
        "formatVersion",
        "version",
        "previous",
        "table",
        "location",
        "created",
        "creator",
        "writer",
        "policy",
        "partitionColumns",
        "files",
        "rows",
        "bytes",
        "parts",
        "indexes",
    }
)
# What a version of the format has besides.
_MORE = {
    2: frozenset({"fileFormat"}),
    3: frozenset({"fileFormat", "writes"}),
    4: frozenset({"fileFormat", "writes", "erasures"}),
}
_POLICY = frozenset({"footerKey", "columns"})
_ERASURE = frozenset({"keys", "erased", "certificate", "sha256"})
_COLUMN = frozenset({"column", "key"})
_FILE = frozenset({"name", "length", "sha256"})
_PART = _FILE | {"files", "first", "last", "indexes"}
_INDEX_FILE = _FILE | {"field"}
_INDEX = frozenset({"kind", "column", "field", "type", "key", "parameters"})
_SEAL = frozenset({"algorithm", "key", "value"})
_MOST_VALUES = 1000
_MOST_FALSE = 0.5
# As Java writes a number: 0.01 or 1.0E-4.
_FRACTION = re.compile(r"\d+(\.\d+)?(E-?\d{1,3})?", re.ASCII)
_WHOLE = re.compile(r"[1-9]\d{0,18}", re.ASCII)
# A class has settings of its own, too, which only the class understands.
_CLASS = "class"


class OtherFormatError(Exception):
    """The manifest has a format that this version does not know."""

    def __init__(self, version: int) -> None:
        super().__init__(f"format {version}")
        self.version = version


def digest(manifest: bytes) -> str:
    """SHA-256 of a whole manifest, as the next version names it."""
    return hashlib.sha256(manifest).hexdigest()


def version_of(manifest: bytes) -> SnapshotVersion:
    """What a manifest states.

    Raises:
        OtherFormatError: its format is a newer one.
        MalformedError: it does not have the form of a manifest.
    """
    content, seal = _lines(manifest)
    algorithm, key = _seal(parsed(seal, "its seal"))
    fields = _content(parsed(content, "its content"))
    version = fields.number("version", least=1)
    previous = fields.text_or_null("previous", _SHA256)
    if (previous is None) != (version == 1):
        raise MalformedError("version 1, and no other, has no previous version")
    indexes = tuple(map(_index, fields.objects("indexes", _INDEX)))
    parts = tuple(map(_part, fields.objects("parts", _PART)))
    _require_whole(parts, indexes)
    files = fields.number("files")
    if sum(part.files for part in parts) != files:
        raise MalformedError(f"its parts do not list {files} files")
    return SnapshotVersion(
        version=version,
        digest=digest(manifest),
        previous=previous,
        created=fields.text("created", _INSTANT),
        creator=fields.text("creator"),
        files=files,
        rows=fields.number("rows"),
        bytes=fields.number("bytes"),
        algorithm=algorithm,
        key=key,
        policy=_policy(fields),
        partition_columns=fields.texts("partitionColumns"),
        indexes=indexes,
        location=fields.text("location"),
        table=fields.text("table", _UUID),
        writer=fields.text("writer"),
        parts=parts,
        file_format=_file_format(fields),
        writes=_writes(fields),
        erasures=tuple(map(_erasure, fields.objects("erasures", _ERASURE))) if _has(fields, "erasures") else (),
    )


def _lines(manifest: bytes) -> tuple[bytes, bytes]:
    lines = manifest.split(b"\n", 3)
    if len(lines) != 3 or lines[2]:  # noqa: PLR2004 the third is what follows the second
        raise MalformedError("it does not have exactly two lines, each with a line break at its end")
    if len(lines[1]) + 2 > MAX_SEAL_BYTES:
        raise MalformedError(f"its seal has {len(lines[1]):,} bytes, more than any seal has")
    return lines[0], lines[1]


def _content(value: object) -> Fields:
    """The content's fields. Its format comes first: another format may have other fields."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise MalformedError("its content is not that of a snapshot")
    number = value.get("formatVersion")
    if isinstance(number, int) and number > max(_FILE_FORMATS):
        raise OtherFormatError(number)
    more = _MORE.get(number, frozenset()) if isinstance(number, int) else frozenset()
    fields = Fields(value, "its content", _CONTENT | more)
    fields.number("formatVersion", least=1)
    return fields


def _file_format(fields: Fields) -> str:
    number = fields.number("formatVersion")
    formats = _FILE_FORMATS[number]
    return fields.text("fileFormat", "|".join(formats)) if number in _MORE else formats[0]


def _writes(fields: Fields) -> dict[str, int]:
    least = 0 if _has(fields, "erasures") else 1
    return fields.number_map("writes", least=least) if _has(fields, "writes") else {}


def _has(fields: Fields, name: str) -> bool:
    return name in _MORE.get(fields.number("formatVersion"), ())


def _erasure(fields: Fields) -> SnapshotErasure:
    keys = fields.texts("keys")
    if not keys:
        raise MalformedError("an entry of its 'erasures' names no key")
    sha256 = fields.text("sha256", _SHA256)
    return SnapshotErasure(keys, fields.text("erased", _INSTANT), fields.text("certificate"), sha256)


def _policy(fields: Fields) -> SnapshotPolicy:
    may_be_by_partition = _has(fields, "erasures")
    policy = fields.object("policy", _POLICY | {"byPartition"} if may_be_by_partition else _POLICY)
    return SnapshotPolicy(
        policy.text_or_null("footerKey"),
        tuple(
            SnapshotColumn(_path(column), column.text_or_null("key")) for column in policy.objects("columns", _COLUMN)
        ),
        may_be_by_partition and policy.flag("byPartition"),
    )


def _part(fields: Fields) -> SnapshotPart:
    part = SnapshotPart(
        fields.text("name", _PART_NAME),
        fields.number("length", least=1),
        fields.text("sha256", _SHA256),
        fields.number("files", least=1),
        fields.text("first"),
        fields.text("last"),
        tuple(map(_index_file, fields.objects("indexes", _INDEX_FILE))),
    )
    if part.first.encode() > part.last.encode():
        raise MalformedError(f"the first file of its part {part.name} comes after the last")
    return part


def _index_file(fields: Fields) -> SnapshotIndexFile:
    return SnapshotIndexFile(
        fields.text("field", _INDEX_FIELD),
        fields.text("name", _INDEX_NAME),
        fields.number("length", least=1),
        fields.text("sha256", _SHA256),
    )


def _index(fields: Fields) -> Index:
    kind = fields.text("kind")
    parameters = fields.text_map("parameters")
    require_parameters(kind, parameters)
    return Index(
        _path(fields),
        kind,
        fields.text("field", _INDEX_FIELD),
        fields.text("type"),
        fields.text_or_null("key"),
        parameters,
    )


def _require_whole(parts: Sequence[SnapshotPart], indexes: Sequence[Index]) -> None:
    """Requires that each part has one file for each index."""
    named = sorted(index.field for index in indexes)
    if len(set(named)) != len(named):
        raise MalformedError("two of its indexes have the same field")
    for part in parts:
        if sorted(file.field for file in part.indexes) != named:
            raise MalformedError(f"its part {part.name} does not have one file for each index")


def _path(fields: Fields) -> tuple[str, ...]:
    path = fields.texts("column")
    if not path:
        raise MalformedError("the path of a column is empty")
    return path


def _seal(value: object) -> tuple[str, str]:
    """The algorithm and the key of a seal that has the right form. Its value is not checked."""
    is_hmac = isinstance(value, dict) and value.get("algorithm") == HMAC
    if isinstance(value, dict) and is_hmac and "former" in value:
        # The HMAC under the master key of the version before, where the key has changed.
        former = value["former"]
        value = {name: one for name, one in value.items() if name != "former"}
        if not isinstance(former, dict) or "former" in former or _seal(former)[0] != HMAC:
            raise MalformedError("the field 'former' of its seal is not an HMAC")
    seal = Fields(value, "its seal", _SEAL | {"wrappedKey"} if is_hmac else _SEAL)
    algorithm = seal.text("algorithm")
    if algorithm not in _SEAL_BYTES:
        raise MalformedError(f"the algorithm of its seal is '{algorithm}', which this format does not have")
    if is_hmac:
        seal.text("wrappedKey", "(?s:.+)")
    try:
        length = len(base64.b64decode(seal.text("value"), validate=True))
    except ValueError:  # binascii.Error, or no ASCII
        raise MalformedError("the value of its seal is not base64") from None
    if length not in _SEAL_BYTES[algorithm]:
        raise MalformedError(f"the value of its seal is {length} bytes long, which {algorithm} never makes")
    return algorithm, seal.text("key", "(?s:.+)")


def _is_max(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None and int(text) <= _MOST_VALUES


def _is_fpp(text: str) -> bool:
    return _FRACTION.fullmatch(text) is not None and 0 < float(text) <= _MOST_FALSE


def _is_ndv(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None and int(text) <= MAX_NUMBER


_KINDS: Mapping[str, Mapping[str, Callable[[str], bool]]] = {
    "minMax": {},
    "valueList": {"max": _is_max},
    "bloom": {"fpp": _is_fpp, "ndv": _is_ndv},
    _CLASS: {"class": bool},
}


def require_parameters(kind: str, parameters: Mapping[str, str]) -> None:
    """Requires that a kind exists, and that its parameters are ones that it can have.

    Raises:
        MalformedError: it is otherwise.
    """
    known = _KINDS.get(kind)
    if known is None:
        raise MalformedError(f"it has an index of kind '{kind}', which this format does not have")
    if kind == _CLASS and "class" not in parameters:
        raise MalformedError("an index of kind 'class' names no class")
    for name, value in parameters.items():
        is_valid = known.get(name)
        if is_valid is None and kind != _CLASS:
            raise MalformedError(f"an index of kind '{kind}' has a parameter '{name}', which this kind does not have")
        if is_valid is not None and not is_valid(value):
            raise MalformedError(f"the parameter '{name}' of an index of kind '{kind}' cannot be '{value}'")
