"""Tables in HDFS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.storage.place import Place

if TYPE_CHECKING:
    from tests.support.storage.hdfs import Files

# Permission bits, and another user than that of the tests.
READ_ONLY, SECRET = 0o555, 0o000
SOMEBODY = "somebody"


@dataclass(frozen=True)
class InHdfs(Place):
    """A place in a directory that everybody may write to."""

    files: Files
    directory: str

    @property
    def where(self) -> str:
        """Its path without the address of the name node, and without a slash before."""
        return f"{self.directory}/{self.name}"

    @property
    def path(self) -> str:
        return self.files.url(self.where)

    def names(self) -> set[str]:
        return self.files.names(self.where)

    def content(self) -> dict[str, bytes]:
        return {name: self.files.read(f"{self.where}/{name}") for name in self.names()}

    def around(self) -> set[str]:
        return self.files.around(self.directory)
