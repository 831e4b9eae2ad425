"""Operations and reads that tests stop in the middle, in any storage, and what must be there afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import pme_parquet as pme
from tests.storage.place import ENC, EXTERNAL, MATERIAL, READING
from tests.support.frames import people, people_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.storage.place import Place


NEW = {"footer": "footer-2", "pii": "pii-2", "pay": "pay-2"}
COPY = "copy"
EITHER = {"plaintextFiles": "allow"}
KINDS = ("_pme_snapshots/snapshot", "_pme_snapshots/part", MATERIAL, "part-", "_SUCCESS")


P = TypeVar("P", bound="Place")


class Operation(NamedTuple):
    """An operation on a table, what the table is before, and what it makes beside the table, if anything."""

    act: Callable[[Place], object]
    prepare: Callable[[Place], object]
    makes: str = ""

    def result(self, place: P) -> P:
        """Return where its result is."""
        return place.beside(self.makes) if self.makes else place


def append(place: Place) -> None:
    place.write(people(place.spark, 20).coalesce(1), ENC, "append")


def sealed(place: Place) -> None:
    place.write(people(place.spark))
    pme.seal(place.spark, place.path, options=READING, expect="unsealed")


def rotate(place: Place) -> None:
    pme.rotate(place.spark, place.path, options=READING, master_keys=NEW, allow_unused=True)


def to_external(place: Place) -> None:
    pme.rotate(place.spark, place.path, options=READING, master_keys=NEW, allow_unused=True, key_material="external")


def in_place(place: Place) -> None:
    done = pme.encrypt(place.spark, place.path, enc=ENC, in_place=True)
    assert done.failed == ()


def written(place: Place) -> None:
    place.write(people(place.spark))


def plain(place: Place) -> None:
    people(place.spark).write.parquet(place.path)


def encrypted(place: Place) -> None:
    pme.encrypt(place.spark, place.path, place.beside(COPY).path, ENC)


def rekeyed(place: Place) -> None:
    pme.rekey(place.spark, place.path, place.beside(COPY).path, EXTERNAL)


def migrated(place: Place) -> None:
    pme.migrate_orc(place.spark, place.path, place.beside(COPY).path, ENC, options=EITHER)


def in_partitions(place: Place) -> None:
    people(place.spark).write.partitionBy("country").parquet(place.path)


def in_partitions_encrypted(place: Place) -> None:
    place.write(people(place.spark), ENC, "error", "country")


def orc(place: Place) -> None:
    people(place.spark).write.partitionBy("country").orc(place.path)


COPIES = {
    "encrypt": Operation(encrypted, in_partitions, COPY),
    "rekey": Operation(rekeyed, in_partitions_encrypted, COPY),
    "migrate_orc": Operation(migrated, orc, COPY),
}
OPERATIONS = {
    "append": Operation(append, sealed),
    "rotate": Operation(rotate, written),
    "to external": Operation(to_external, written),
    "in place": Operation(in_place, plain),
}


def shape(names: set[str]) -> list[str]:
    """Return the kinds of files: names of data are random."""
    return sorted(next((kind for kind in KINDS if name.startswith(kind)), name) for name in names)


def assert_nothing_lost(name: str, place: Place) -> None:
    """Fail unless the table is what it was or what it will be, or a reader's error says that it is neither."""
    before = people_rows(place.spark)
    if name != "append":
        assert place.rows(**EITHER) == before
        return
    after = people_rows(place.spark, 0, 20)
    try:
        assert place.rows(snapshot="require") in (before, after)
    except pme.SnapshotMismatchError:
        # The file is there, and its version is not.
        assert place.rows(snapshot="off") == after


READS: dict[str, Callable[[Place], object]] = {
    "rows": lambda place: place.rows(),
    "sealed rows": lambda place: place.rows(snapshot="require"),
    "verify": lambda place: pme.verify(place.spark, place.path, options=READING).collect(),
}
