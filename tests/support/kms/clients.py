"""KMS clients in Python that wrap as parquet-java's key tools do and record their calls; some refuse, lose or wait.

`during` and `at_once` run two operations at the same time, one of which may wait for its client.
"""

from __future__ import annotations

import base64
import hashlib
import os
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NONCE_BYTES = 12

# The master keys of this realm are those of the testkit's ``TestKms``.
TESTKIT = "pme-testkit"
PATIENCE = 120


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


class Guarded(Client):
    """Denies some keys; raises a given error for others."""

    def __init__(self, *denied: str, failing: dict[str, Exception] | None = None) -> None:
        super().__init__()
        self._failing: dict[str, Exception] = dict.fromkeys(denied, PermissionError()) | (failing or {})

    def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
        if master_key_id in self._failing:
            self._called("unwrap", master_key_id)
            raise self._failing[master_key_id]
        return super().unwrap_key(wrapped, master_key_id)


class Remembering(Client):
    """Has a master key for every id except the lost ones, and records what it wrapped."""

    def __init__(self, realm: str = TESTKIT, lacks: Iterable[str] = ()) -> None:
        super().__init__(realm)
        self.keys: list[bytes] = []
        self.wrapped: list[str] = []
        self._lacks = set(lacks)

    def wrap_key(self, key: bytes, master_key_id: str) -> str:
        self._require(master_key_id)
        self.keys.append(key)
        self.wrapped.append(super().wrap_key(key, master_key_id))
        return self.wrapped[-1]

    def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
        self._require(master_key_id)
        return super().unwrap_key(wrapped, master_key_id)

    def _require(self, master_key_id: str) -> None:
        if master_key_id in self._lacks:
            raise LookupError


class Waiting(Remembering):
    """Waits with its answers until the test allows them."""

    def __init__(self, *, wraps: bool = True, unwraps: bool = True) -> None:
        super().__init__()
        self.asked, self.told = threading.Event(), threading.Event()
        self._wraps, self._unwraps = wraps, unwraps

    def wrap_key(self, key: bytes, master_key_id: str) -> str:
        if self._wraps:
            self._wait()
        return super().wrap_key(key, master_key_id)

    def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
        if self._unwraps:
            self._wait()
        return super().unwrap_key(wrapped, master_key_id)

    def _wait(self) -> None:
        self.asked.set()
        assert self.told.wait(PATIENCE)


def during(client: Waiting, slow: Callable[[], object], quick: Callable[[], object]) -> list[Exception]:
    """Run the second while the first waits for its KMS, and return how the first failed."""
    failures: list[Exception] = []
    first = _thread(slow, failures)
    first.start()
    try:
        assert client.asked.wait(PATIENCE)
        quick()
    finally:
        client.told.set()
        first.join(PATIENCE)
    assert not first.is_alive()
    return failures


def at_once(act: Callable[[], object]) -> list[Exception]:
    """Run the same twice at the same time, and return the failures: one may end the other."""
    failures: list[Exception] = []
    runs = [_thread(act, failures) for _ in range(2)]
    for one in runs:
        one.start()
    for one in runs:
        one.join()
    return failures


def _thread(act: Callable[[], object], failures: list[Exception]) -> threading.Thread:
    def run() -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 the test looks at it
            failures.append(error)

    return threading.Thread(target=run)
