"""Two runs at the same time: one that waits for its KMS while the other works, or both from the same moment."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tests.support.tables import Remembering

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 120


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
