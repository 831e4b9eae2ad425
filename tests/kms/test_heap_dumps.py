"""Live objects in the memory of executors or the driver hold no expired keys.

Dead objects stay in memory until it is used again and are not searched: nobody can erase a key in a JVM's garbage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kms.heaps import COLUMNS, FILES, GONE, KEPT, MASTERS, WRITTEN
from tests.support import needs
from tests.support.kms.cluster_places import STATIC

if TYPE_CHECKING:
    from tests.support.kms.cluster_places import Cluster, Heaps

pytestmark = [pytest.mark.slow, needs.linux, pytest.mark.oldest, pytest.mark.nightly]

# A key-encryption key for each master key, and a data key for each column and each footer.
KEKS = 1 + COLUMNS
ALL = KEKS + FILES * (1 + COLUMNS)


@pytest.fixture(scope="module")
def found(searched: Cluster) -> Heaps:
    """Return how many keys of each table were in the heaps at the end of a job that had read them."""
    assert searched.result.heaps
    return searched.result.heaps


def test_keys_that_have_not_expired_are_found(found: Heaps) -> None:
    # Otherwise the search proves nothing.
    assert found.executors[KEPT] == ALL
    assert found.driver[KEPT] >= KEKS
    assert found.driver[MASTERS] == len(STATIC)


@pytest.mark.parametrize("name", [*GONE, WRITTEN])
def test_no_expired_key_is_in_a_heap(found: Heaps, name: str) -> None:
    assert (found.driver[name], found.executors[name]) == (0, 0)


def test_no_master_key_is_in_an_executors_heap(found: Heaps) -> None:
    assert found.executors[MASTERS] == 0
