"""The keys of a file: what key metadata and key material say, parquet-java's JSON (`PKMT1`) or a key's name (§4.3).

Key material is in the file, or in another one next to it. The rules are the connector's: what it would refuse is a
finding here. Wrapped keys are only measured, never returned.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Literal

from pme_parquet._inspect import problems
from pme_parquet._inspect.footers import LARGE
from pme_parquet._inspect.inspected import Key
from pme_parquet._storage import UnreadableError, not_read, strict_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from pme_parquet._storage import Found, Storage
    from pme_parquet.errors import PmeError

TYPE = "PKMT1"
PREFIX, SUFFIX = "_KEY_MATERIAL_FOR_", ".json"
FOOTER_REFERENCE = "footerKey"
# Key material is a few hundred bytes; no master key's id or wrapped key needs more than this.
MAX_BYTES = 64 * 1024
# A file of key material has an entry for each column key.
MAX_FILE_BYTES = 4 * 1024 * 1024
_MAX_NAME = 1024
# A name contains no quote. A quote means altered JSON, and its content must not be shown.
_NO_NAME = re.compile(r'[\x00-\x1f\x7f-\x9f"]')
# base64 of nonce, key and tag (`KeyToolkit.encryptKeyLocally`).
_LOCAL_OVERHEAD = 12 + 16
_AES_BYTES = (16, 24, 32)
_KEK_ID_BYTES = 16
_VERSION = re.compile(r"vault:v(\d{1,9}):")

Place = Literal["internal", "external"]
Reference = str
UNREADABLE = Key("unreadable")


class UnusableError(Exception):
    """Key metadata or material cannot be used; the message says why, as the end of *because*."""


def of_metadata(metadata: bytes | None) -> Key | Reference:
    """The key that key metadata names, or the name under which the file next to it has its material."""
    if metadata is None:
        return Key("none")
    if len(metadata) > MAX_BYTES:
        raise UnusableError(f"it is longer than {MAX_BYTES} bytes")
    text = _text(metadata)
    if not text.startswith("{"):
        if not text or len(text) > _MAX_NAME or _NO_NAME.search(text):
            raise UnusableError("it is neither key material nor the name of a key")
        return Key("direct", master_key=text)
    fields = _Fields(text)
    if not fields.flag("internalStorage"):
        return fields.text("keyReference")
    return _envelope(fields, "internal", None)


def of_file(content: bytes) -> dict[Reference, Key]:
    """The keys in the file of key material next to a file."""
    return {reference: _entry(reference, value) for reference, value in _flat(_text(content)).items()}


def _entry(reference: Reference, value: str | bool) -> Key:  # noqa: FBT001 a value of JSON
    if not isinstance(value, str):
        raise UnusableError(f"the value of its entry '{reference}' is not a string")
    if len(value) > MAX_BYTES:
        raise UnusableError(f"its entry '{reference}' is longer than {MAX_BYTES} bytes")
    return _envelope(_Fields(value), "external", reference)


def _envelope(fields: _Fields, material: Place, reference: Reference | None) -> Key:
    double = fields.flag("doubleWrapping")
    fields.flag("isFooterKey")
    data_key, kek = fields.text("wrappedDEK"), fields.text("wrappedKEK") if double else None
    version = _VERSION.match(kek or data_key)
    return Key(
        "envelope",
        material=material,
        reference=reference,
        master_key=fields.text("masterKeyID"),
        master_key_version=version[1] if version else None,
        double_wrapping=double,
        kek_id=fields.kek_id() if double else None,
        data_key_bits=_bits(data_key),
        kek_bits=_bits(kek) if kek else None,
        kms_instance_id=fields.optional("kmsInstanceID"),
        kms_instance_url=fields.optional("kmsInstanceURL"),
    )


def _bits(wrapped: str) -> int | None:
    """The length of the key inside a wrapped key if it was wrapped locally; None if a KMS wrapped it."""
    try:
        length = len(base64.b64decode(wrapped, validate=True)) - _LOCAL_OVERHEAD
    except ValueError:  # binascii.Error, or no ASCII
        return None
    return 8 * length if length in _AES_BYTES else None


class _Fields:
    """The fields of key material, read by name and type."""

    def __init__(self, text: str) -> None:
        self._values = _flat(text)
        if self.text("keyMaterialType") != TYPE:
            raise UnusableError(f"the key material is not of type {TYPE}")

    def text(self, name: str) -> str:
        value = self._values.get(name)
        if not isinstance(value, str) or not value:
            raise UnusableError(f"it has no string field '{name}'")
        return value

    def kek_id(self) -> str:
        """The id, in the form that every writer generates: the wrapped key is bound to it."""
        value = self.text("keyEncryptionKeyID")
        try:
            drawn = base64.b64decode(value, validate=True)
        except ValueError:  # binascii.Error, or no ASCII
            raise UnusableError("the id of the key-encryption key is not base64") from None
        if len(drawn) != _KEK_ID_BYTES or base64.b64encode(drawn).decode() != value:
            raise UnusableError(f"the id of the key-encryption key is not {_KEK_ID_BYTES} bytes in base64")
        return value

    def flag(self, name: str) -> bool:
        value = self._values.get(name)
        if not isinstance(value, bool):
            raise UnusableError(f"it has no true or false field '{name}'")
        return value

    def optional(self, name: str) -> str | None:
        value = self._values.get(name)
        return value if isinstance(value, str) else None


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise UnusableError("it is not text") from None


def _flat(text: str) -> dict[str, str | bool]:
    """A JSON object of texts, true and false, without duplicate names."""
    try:
        value = strict_json(text)
    except UnreadableError:
        raise UnusableError("it is not JSON") from None
    if not isinstance(value, dict):
        raise UnusableError("it is not a JSON object")
    if not all(isinstance(field, str | bool) for field in value.values()):
        raise UnusableError("the value of a field is neither a string nor true or false")
    return value


class FileKeys:
    """Finds the keys of one file; each problem becomes one finding."""

    def __init__(self, storage: Storage, found: Found, finding: Callable[[PmeError], None]) -> None:
        self._storage = storage
        self._found = found
        self._finding = finding
        self._external_keys: dict[str, Key] | None = None

    @property
    def others(self) -> tuple[Key, ...]:
        """The keys in the file next to it except the footer's: those of columns, which only the footer names."""
        return tuple(key for name, key in (self._external_keys or {}).items() if name != FOOTER_REFERENCE)

    def key(self, metadata: bytes | None, of: str) -> Key:
        """The key that the key metadata of the footer or of a column names."""
        try:
            found = of_metadata(metadata)
        except UnusableError as unusable:
            self._finding(problems.key_metadata(f"{self._found.shown}: {of}", str(unusable)))
            return UNREADABLE
        return found if isinstance(found, Key) else self._external(found)

    def _external(self, reference: str) -> Key:
        if self._external_keys is None:
            self._external_keys = self._read()
        if not self._external_keys:  # already a finding
            return UNREADABLE
        key = self._external_keys.get(reference)
        if key is None:
            self._unusable(f"it has no entry '{reference}'")
        return key or UNREADABLE

    def _read(self) -> dict[str, Key]:
        with LARGE:
            try:
                found = of_file(self._content())
                if not found:
                    self._unusable("it is empty")
            except UnusableError as unusable:
                return self._unusable(str(unusable))
            except FileNotFoundError:
                return self._unusable("it is missing")
            except Exception as failed:  # noqa: BLE001 every storage raises errors of its own
                self._finding(not_read(f"{self._found.shown}: {self._name}", failed))
                return {}
            return found

    def _content(self) -> bytes:
        directory = self._found.path[: -len(self._found.name)]
        content = self._storage.read(directory + self._name, 0, MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise UnusableError(f"it is longer than {MAX_FILE_BYTES} bytes")
        return content

    def _unusable(self, why: str) -> dict[str, Key]:
        self._finding(problems.key_metadata(self._found.shown, f"{self._name}: {why}"))
        return {}

    @property
    def _name(self) -> str:
        return PREFIX + self._found.name + SUFFIX
