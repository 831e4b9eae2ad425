"""Which requests for a place in an object store fail."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.storage.place import InBucket
    from tests.support.storage.s3 import Fault


def concerns(place: InBucket, key: str) -> bool:
    """Return whether a request with this key is of a place. What belongs to a place can have a name before it."""
    # A request to delete several objects has no key.
    return not key or place.name in key


def at(place: InBucket, point: int, fault: Fault, *, ever_after: bool) -> Callable[[str, str], Fault | None]:
    """Return which requests for a place fail: that one, or it and all after it."""
    lock, count = threading.Lock(), [0]

    def which(_: str, key: str) -> Fault | None:
        if not concerns(place, key):
            return None
        with lock:
            count[0] += 1
            return fault if count[0] == point + 1 or (ever_after and count[0] > point) else None

    return which
