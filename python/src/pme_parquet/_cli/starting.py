"""Spark's JVM while it starts: Ctrl-C ends it at once, with all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Starting:
    """What PySpark starts while this is `watched`: a shell that becomes the JVM, and another JVM before it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """PySpark reports its process only when that is ready, so it gets a Popen that reports it at once."""
        from pyspark import java_gateway  # noqa: PLC0415 slow to import

        module: Any = java_gateway
        plain = module.Popen
        module.Popen = self._started
        try:
            yield
        finally:
            module.Popen = plain

    def end(self) -> None:
        """Kills the process and those that it started, which are a group of their own."""
        process = self._process
        if process is None:
            return
        with _later(), suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            process.wait()

    def _started(self, command: list[str], **settings: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401 as Popen
        with _later():
            self._process = subprocess.Popen(command, start_new_session=True, **settings)
        return self._process


def is_interruption(failed: BaseException | None) -> bool:
    """Whether Ctrl-C is behind what was raised: cleaning up after it fails, too, where Spark is not all there yet."""
    while failed is not None:
        if isinstance(failed, KeyboardInterrupt):
            return True
        failed = failed.__cause__ or failed.__context__
    return False


@contextmanager
def _later() -> Iterator[None]:
    """Keeps Ctrl-C back until what is inside is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
