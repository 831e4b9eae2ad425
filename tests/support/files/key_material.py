"""The data keys of files, unwrapped from their external key material, to search for them where they must not be."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Protocol

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.support.canary import files_under

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

NONCE = 12


class Service(Protocol):
    """A master key that does not leave its KMS."""

    def decrypt(self, ciphertext: str) -> str:
        """Return the unwrapped key in base64."""
        ...


def unwrap(wrapped: str, key: bytes, aad: bytes) -> bytes:
    """Undo ``KeyToolkit.encryptKeyLocally``: base64(nonce, ciphertext, tag)."""
    raw = base64.b64decode(wrapped)
    return AESGCM(key).decrypt(raw[:NONCE], raw[NONCE:], aad)


def materials(root: Path) -> Iterator[dict[str, str]]:
    """Yield the key material of every ``_KEY_MATERIAL_FOR_*`` file under root."""
    for path in files_under(root):
        if path.name.startswith("_KEY_MATERIAL_FOR_"):
            for text in json.loads(path.read_text()).values():
                yield json.loads(text) if isinstance(text, str) else text


def opened(wrapped: str, master_key_id: str, master: bytes | Service) -> bytes:
    """Unwrap as the KMS does."""
    if isinstance(master, bytes):
        return unwrap(wrapped, master, master_key_id.encode())
    return base64.b64decode(master.decrypt(wrapped))


def data_keys(root: Path, masters: Mapping[str, bytes | Service]) -> set[bytes]:
    """Return every data key and key-encryption key of the files under root that these master keys wrap."""
    found = set()
    for material in materials(root):
        name = material["masterKeyID"]
        if name not in masters:
            continue
        if material["doubleWrapping"]:
            kek = opened(material["wrappedKEK"], name, masters[name])
            aad = base64.b64decode(material["keyEncryptionKeyID"])
            found |= {kek, unwrap(material["wrappedDEK"], kek, aad)}
        else:
            found.add(opened(material["wrappedDEK"], name, masters[name]))
    return found


def spellings(secret: bytes) -> dict[str, bytes]:
    """Return the forms in which a key may be printed: raw, base64, hex, and as Java prints a byte array."""
    signed = [byte - 256 if byte > 127 else byte for byte in secret]
    return {
        "raw": secret,
        "base64": base64.b64encode(secret).rstrip(b"="),
        "base64url": base64.urlsafe_b64encode(secret).rstrip(b"="),
        "hex": secret.hex().encode(),
        "HEX": secret.hex().upper().encode(),
        "bytes": ", ".join(str(byte) for byte in signed).encode(),
        "array": ",".join(str(byte) for byte in signed).encode(),
    }
