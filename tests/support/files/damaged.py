"""Files that are cut or have a flipped bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.files import bend, forge
from tests.support.files.anatomy import Anatomy, Kind
from tests.support.files.regions import place

if TYPE_CHECKING:
    from pathlib import Path


def cut(path: Path) -> None:
    bend.replace(path, path.read_bytes()[:-1])


def damage(path: Path) -> None:
    """Flip a bit in the first page."""
    file = Anatomy(path.read_bytes())
    bend.replace(path, forge.flip(file.content, place(file.named("id").of(Kind.DATA_PAGE)[0], "ciphertext")))
