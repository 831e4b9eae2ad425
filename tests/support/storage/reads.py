"""Reads of a sealed table that meet faults, in any storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.support.storage.place import READING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.storage.place import Place

READS: dict[str, Callable[[Place], object]] = {
    "rows": lambda place: place.rows(),
    "sealed rows": lambda place: place.rows(snapshot="require"),
    "verify": lambda place: pme.verify(place.spark, place.path, options=READING).collect(),
}
