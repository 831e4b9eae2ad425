"""Tables of a real Iceberg, and a look at what is readable below them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.support import metastore
from tests.support.canary import files_under, find_canaries

if TYPE_CHECKING:
    from pathlib import Path

CANARIES = ["ssn-7", "ssn-8", "ssn-99"]
COLUMNS = "id BIGINT, ssn STRING, salary DOUBLE"


class Job(metastore.Statements):
    """Statements on tables of Iceberg."""

    def table(self, name: str, properties: dict[str, str], rest: str = "") -> None:
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
        self.sql(f"CREATE TABLE {name} ({COLUMNS}) USING iceberg {rest} TBLPROPERTIES ({listed})")
        self.sql(f"INSERT INTO {name} SELECT id, concat('ssn-', id), id * 1.5D FROM range(0, 10, 1, 2)")

    def looked(self, step: str, table: str) -> None:
        """Keep where secrets are readable, and how files of each kind begin."""
        self.looked_at(step, self.work / "warehouse" / table)

    def looked_at(self, step: str, place: Path) -> None:
        self.done[f"{step} readable"] = [str(hit) for hit in find_canaries(place, CANARIES)]
        kinds = [f"{kind(path)} {path.read_bytes()[:4]!r}" for path in files_under(place) if path.suffix != ".crc"]
        self.done[f"{step} files"] = dict(sorted(Counter(kinds).items()))


def kind(path: Path) -> str:
    name = path.name
    if name.startswith("snap-"):
        return "manifest list"
    return "manifest" if name.endswith(".avro") else "".join(path.suffixes[-2:])
