"""Live objects in the memory of an executor or the driver hold no expired keys.

Dead objects stay in memory until it is used again and are not searched: nobody can erase a key in a JVM's garbage.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.leaks.heap_job import COLUMNS, FILES, GONE, KEPT, MASTERS, WRITTEN
from tests.support.expect import save
from tests.support.kms.cluster_places import STATIC, Places, start, static_keys
from tests.support.kms.counting import encryption, frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="executors are found as Linux shows processes"),
    pytest.mark.all_rows,
    pytest.mark.oldest,
]

Found = dict[str, dict[str, int]]

# A key-encryption key for each master key, and a data key for each column and each footer.
KEKS = 1 + COLUMNS
ALL = KEKS + FILES * (1 + COLUMNS)


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Return how many keys of each table were in the heaps, at the end, of a job that had read them."""
    places = Places(tmp_path_factory.mktemp("heap"))
    places.make()
    keys = places.work / "static.keys"
    keys.write_text(static_keys())
    options = {"kms": "static", "kms.static.keys": f"file:{keys}", "keyMaterial": "external"} | encryption(COLUMNS)
    for name in (KEPT, *GONE):
        save(frame(spark, COLUMNS, FILES), str(places.data / name), options)
    start("tests.leaks.heap_job", places)
    result: Found = json.loads((places.work / "found.json").read_text())
    return result


def test_keys_that_have_not_expired_are_found(found: Found) -> None:
    # Otherwise the search proves nothing.
    assert found["executor"][KEPT] == ALL
    assert found["driver"][KEPT] >= KEKS
    assert found["driver"][MASTERS] == len(STATIC)


@pytest.mark.parametrize("process", ["executor", "driver"])
@pytest.mark.parametrize("name", [*GONE, WRITTEN])
def test_no_expired_key_is_in_the_heap(found: Found, process: str, name: str) -> None:
    assert found[process][name] == 0


def test_no_master_key_is_in_an_executors_heap(found: Found) -> None:
    assert found["executor"][MASTERS] == 0
