"""A KMS client in Python that wraps as parquet-java's key tools do, and records its calls."""

from __future__ import annotations

import base64
import hashlib
import os
import time
from collections import Counter

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12

# The master keys of this realm are those of the testkit's ``TestKms``.
TESTKIT = "pme-testkit"


class Client:
    """Has a master key for every id; another realm has other keys."""

    def __init__(self, realm: str = TESTKIT, pause: float = 0) -> None:
        self.calls: list[tuple[str, str]] = []
        self._realm = realm
        self._pause = pause

    def wrap_key(self, key: bytes, master_key_id: str) -> str:
        self._called("wrap", master_key_id)
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._cipher(master_key_id).encrypt(nonce, key, master_key_id.encode())
        return base64.b64encode(nonce + sealed).decode()

    def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
        self._called("unwrap", master_key_id)
        blob = base64.b64decode(wrapped)
        return self._cipher(master_key_id).decrypt(blob[:NONCE_BYTES], blob[NONCE_BYTES:], master_key_id.encode())

    def count(self, what: str) -> dict[str, int]:
        """Return how often each master key was used to ``wrap`` or ``unwrap``."""
        return dict(Counter(key for called, key in self.calls if called == what))

    def _called(self, what: str, master_key_id: str) -> None:
        self.calls.append((what, master_key_id))
        time.sleep(self._pause)

    def _cipher(self, master_key_id: str) -> AESGCM:
        return AESGCM(hashlib.sha256(f"{self._realm}:{master_key_id}".encode()).digest()[:16])
