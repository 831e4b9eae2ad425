"""Tables of a real Iceberg, and a look at what is readable below them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.support import metastore
from tests.support.canary import files_under, find_canaries

if TYPE_CHECKING:
    from pathlib import Path

CANARIES = ["ssn-7", "ssn-8", "ssn-99"]
COLUMNS = "id BIGINT, ssn STRING, salary DOUBLE"


@dataclass(frozen=True)
class Looked:
    """What is below a table: where secrets are readable, and how files of each kind begin."""

    readable: list[str]
    files: list[str]


@dataclass
class Job(metastore.Statements):
    """Statements on tables of Iceberg."""

    looked: dict[str, Looked] = field(default_factory=dict)

    def table(self, name: str, properties: dict[str, str], rest: str = "") -> None:
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
        self.sql(f"CREATE TABLE {name} ({COLUMNS}) USING iceberg {rest} TBLPROPERTIES ({listed})")
        self.sql(f"INSERT INTO {name} SELECT id, concat('ssn-', id), id * 1.5D FROM range(0, 10, 1, 2)")

    def look(self, step: str, table: str) -> None:
        self.look_below(step, self.work / "warehouse" / table)

    def look_below(self, step: str, place: Path) -> None:
        kinds = {f"{kind(path)} {path.read_bytes()[:4]!r}" for path in files_under(place) if path.suffix != ".crc"}
        self.looked[step] = Looked([str(hit) for hit in find_canaries(place, CANARIES)], sorted(kinds))


def kind(path: Path) -> str:
    name = path.name
    if name.startswith("snap-"):
        return "manifest list"
    return "manifest" if name.endswith(".avro") else "".join(path.suffixes[-2:])
