"""The keys of one file, from its key metadata or from the file of key material beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._inspect import material, problems
from pme_parquet._inspect.inspected import Key
from pme_parquet._inspect.tails import LARGE
from pme_parquet._storage import not_read

if TYPE_CHECKING:
    from collections.abc import Callable

    from pme_parquet._storage import Found, Storage
    from pme_parquet.errors import PmeError

UNREADABLE = Key("unreadable")


class FileKeys:
    """Finds the keys of one file; each problem becomes one finding."""

    def __init__(self, storage: Storage, found: Found, finding: Callable[[PmeError], None]) -> None:
        self._storage = storage
        self._found = found
        self._finding = finding
        self._beside: dict[str, Key] | None = None

    @property
    def others(self) -> tuple[Key, ...]:
        """The keys in the file beside it except the footer's: those of columns, which only the footer names."""
        return tuple(key for name, key in (self._beside or {}).items() if name != material.FOOTER_REFERENCE)

    def key(self, metadata: bytes | None, of: str) -> Key:
        """The key that the key metadata of the footer or of a column names."""
        try:
            found = material.of_metadata(metadata)
        except material.UnusableError as unusable:
            self._finding(problems.key_metadata(f"{self._found.shown}: {of}", str(unusable)))
            return UNREADABLE
        return found if isinstance(found, Key) else self._external(found)

    def _external(self, reference: str) -> Key:
        if self._beside is None:
            self._beside = self._read()
        if not self._beside:  # already a finding
            return UNREADABLE
        key = self._beside.get(reference)
        if key is None:
            self._unusable(f"it has no entry '{reference}'")
        return key or UNREADABLE

    def _read(self) -> dict[str, Key]:
        with LARGE:
            try:
                found = material.of_file(self._content())
                if not found:
                    self._unusable("it is empty")
            except material.UnusableError as unusable:
                return self._unusable(str(unusable))
            except FileNotFoundError:
                return self._unusable("it is missing")
            except Exception as failed:  # noqa: BLE001 every storage raises errors of its own
                self._finding(not_read(f"{self._found.shown}: {self._name}", failed))
                return {}
            return found

    def _content(self) -> bytes:
        directory = self._found.path[: -len(self._found.name)]
        content = self._storage.read(directory + self._name, 0, material.MAX_FILE_BYTES + 1)
        if len(content) > material.MAX_FILE_BYTES:
            raise material.UnusableError(f"it is longer than {material.MAX_FILE_BYTES} bytes")
        return content

    def _unusable(self, why: str) -> dict[str, Key]:
        self._finding(problems.key_metadata(self._found.shown, f"{self._name}: {why}"))
        return {}

    @property
    def _name(self) -> str:
        return material.PREFIX + self._found.name + material.SUFFIX
