"""The code that a page has its reader type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.docs.not_run import reason
from tests.support.markdown import ROOT, Block, blocks

if TYPE_CHECKING:
    from pathlib import Path


TYPED = {"bash", "python", "sql"}


def to_type(page: Path) -> list[Block]:
    """Return the blocks of a page that a reader types here."""
    return [block for block in blocks(page) if block.language in TYPED and not reason(name(page), block.code)]


def name(page: Path) -> str:
    """Return a page's path in the project."""
    return str(page.relative_to(ROOT))
