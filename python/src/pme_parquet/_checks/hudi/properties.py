"""What a Hudi table says of itself (`hoodie.properties`, definitions of indexes), and the columns that matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._storage import UnreadableError, strict_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FILE = ".hoodie/hoodie.properties"
DEFINITIONS = ".hoodie/.index_defs/"
MAX_BYTES = 1 << 20

_KEYS = "hoodie.table.recordkey.fields"
_PARTITIONS = "hoodie.table.partition.fields"
_TYPE = "hoodie.table.type"
_TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
RECORD_KEY, PARTITION_PATH = "_hoodie_record_key", "_hoodie_partition_path"
# They hold times, numbers and names of files.
_OWN = frozenset({"_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_file_name", "_hoodie_operation"})


class Properties:
    """The properties of a table.

    Attributes:
        type: of the table; None if it is not stated.
        version: of the table's format; None if it is not stated.
        keys: the fields of the record key; empty if there are none, as Hudi makes keys of its own then.
        partitions: the fields of the partition path.
        change_data: whether log files of change data are written.
        other_format: whether base files may be of another format than Parquet.

    Raises:
        UnreadableError: they are not what Hudi writes.
    """

    def __init__(self, content: bytes) -> None:
        found = _parsed(content)
        self.type = found.get(_TYPE)
        if self.type not in _TYPES:
            raise UnreadableError("it does not say whether the table is COPY_ON_WRITE or MERGE_ON_READ")
        version = found.get("hoodie.table.version", "")
        self.version = int(version) if version.isascii() and version.isdigit() and len(version) < len("1000") else None
        self.keys, self.partitions = _fields(found, _KEYS), _fields(found, _PARTITIONS)
        self.change_data = found.get("hoodie.table.cdc.enabled", "false") != "false"
        several = found.get("hoodie.table.multiple.base.file.formats.enable", "false") != "false"
        self.other_format = several or found.get("hoodie.table.base.file.format", "PARQUET") != "PARQUET"


def _parsed(content: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in content.decode("latin-1").splitlines():
        text = line.strip()
        if not text or text.startswith(("#", "!")):
            continue
        name, is_there, value = text.partition("=")
        # Java escapes what is neither a name nor a plain value, and continues lines.
        of_fields = name.strip() in {_KEYS, _PARTITIONS, _TYPE}
        if (not is_there or "\\" in name) or (of_fields and "\\" in value):
            raise UnreadableError("it has a line that this check does not understand")
        found[name.strip()] = value.strip()
    return found


def _fields(found: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The names in a list; a key generator may add a kind after a colon."""
    parts = (part.partition(":")[0].strip() for part in found.get(name, "").split(","))
    return tuple(part for part in parts if part)


def indexed(content: bytes) -> dict[str, tuple[str, ...]]:
    """The fields of each index.

    Raises:
        UnreadableError: it is not what Hudi writes.
    """
    try:
        defined = strict_json(content)["indexDefinitions"]
        return {str(name): tuple(map(str, one["sourceFields"])) for name, one in defined.items()}
    except (KeyError, TypeError, AttributeError):
        raise UnreadableError("it is no definition of indexes that this check understands") from None


class Protected:
    """The protected columns of a table.

    Args:
        names: the columns; all if None.
        keys: the fields of the record key; None if they are not known.
        partitions: the fields of the partition path; None if they are not known.
    """

    def __init__(
        self, names: Sequence[str] | None, keys: Sequence[str] | None, partitions: Sequence[str] | None
    ) -> None:
        self.names = tuple(names or ())
        self._paths = None if names is None else [_path(name) for name in names]
        self.keys = ("*",) if keys is None else self._among(keys)
        self.partitions = ("*",) if partitions is None else self._among(partitions)

    def among(self, columns: Iterable[str]) -> tuple[str, ...]:
        """The protected ones among columns of files or indexes, sorted; of Hudi's copies, what they repeat."""
        found: set[str] = set()
        for column in columns:
            own = column.lower()
            if own == RECORD_KEY:
                found.update(self.keys)
            elif own == PARTITION_PATH:
                found.update(self.partitions)
            elif own not in _OWN:
                found.update(self._among([column]))
        return tuple(sorted(found))

    def _among(self, columns: Iterable[str]) -> tuple[str, ...]:
        if self._paths is None:
            return tuple(columns)
        return tuple(column for column in columns if any(_overlap(_path(column), one) for one in self._paths))


def _path(name: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("`").lower() for part in name.split("."))


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one is the other, or in it."""
    return all(left == right for left, right in zip(one, other, strict=False))
