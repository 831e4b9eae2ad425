"""What must be there after a copy to another directory that could not end, in any storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.storage.changes import COPIES, shape
from tests.support.frames import people_rows

if TYPE_CHECKING:
    from collections.abc import Collection

    from tests.storage.place import Place

UNFINISHED = "0-unfinished-copy-"


def in_directories(names: Collection[str]) -> list[tuple[str, list[str]]]:
    """Return the directory and the kind of each file."""
    parts = (name.rpartition("/") for name in names)
    return sorted((directory, shape({file})) for directory, _, file in parts)


def where_it_appears(point: int, points: int, requests: int, appears: int) -> int:
    """Return before which request a store stops: a quarter of the points come before the copy begins to appear."""
    early = points // 4
    if point < early:
        return appears * point // early
    return appears + (requests - appears) * (point - early) // (points - early)


def remove(place: Place) -> None:
    """Remove everything at a place, with the client of its store."""
    spark: Any = place.spark
    path = spark._jvm.org.apache.hadoop.fs.Path(place.path)
    store = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    assert store.delete(path, True)  # noqa: FBT003 Java's


def act(name: str, place: Place) -> bool:
    """Copy, and return whether this failed."""
    try:
        COPIES[name].act(place)
    except Exception:  # noqa: BLE001 each storage has its own
        return True
    return False


def assert_whole_or_refused(name: str, place: Place, clean: Collection[str], *, failed: bool) -> bool:
    """Fail unless the copy is whole, absent, or refused by readers; return whether it is whole.

    Args:
        clean: the files of a copy that nothing stopped.
        failed: whether the operation said so.
    """
    target = COPIES[name].result(place)
    names = target.names()
    marked = [name for name in names if UNFINISHED in name]
    if not failed or (target.data() and not marked):
        # Only what the run leaves next to its copy could not be removed.
        assert target.rows() == people_rows(place.spark)
        assert in_directories(names) == in_directories(clean)
        return True
    if target.data():
        with pytest.raises(pme.DamagedFileError, match="a copy to this directory has not ended"):
            target.rows()
        # Other programs fail on the same files: Spark's own source would.
        bodies = target.content()
        data = bodies.keys() - marked
        assert {bodies[name][-4:] for name in data if name.endswith(".parquet")} <= {b"PARE"}
        if in_directories(data) != in_directories(clean):
            assert {name.rpartition("/")[0] for name in data} <= {name.rpartition("/")[0] for name in marked}
        assert b"PAR" not in b"".join(bodies[name] for name in marked)
    return False


def assert_the_next_run_ends_it(
    name: str, place: Place, clean: Collection[str], *, has_directories: bool = False
) -> None:
    """Fail unless another run makes the copy, or is refused until somebody has removed what there is of it.

    Args:
        clean: the files of a copy that nothing stopped.
        has_directories: whether the store has directories, of which empty ones may be left.
    """
    target = COPIES[name].result(place)
    has_data, left = bool(target.data()), target.names()
    try:
        COPIES[name].act(place)
    except pme.PmeError as refused:
        assert has_data or (has_directories and not left)
        reason = "a copy to it has not ended" if has_data else "it is not empty"
        assert reason in str(refused)  # noqa: PT017 it may also succeed
        remove(target)
        COPIES[name].act(place)
    else:
        assert not has_data
    assert target.rows() == people_rows(place.spark)
    assert in_directories(target.names()) == in_directories(clean)
