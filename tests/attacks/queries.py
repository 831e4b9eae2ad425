"""Which query makes a reader open a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.attacks.probe import ALL, FILTERED, Query, absent_note
from tests.support.files.anatomy import BLOOMS, INDEXES

if TYPE_CHECKING:
    from tests.support.files.anatomy import Anatomy, Module


def query_for(file: Anatomy, module: Module) -> Query:
    """Return a query that must open the module."""
    if module.kind in INDEXES:
        return FILTERED
    return absent_note(file.first_row(module.row_group) + 10) if module.kind in BLOOMS else ALL
