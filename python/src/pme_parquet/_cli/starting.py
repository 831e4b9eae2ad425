"""Starts Spark's JVM so that Ctrl-C ends it at once, with every process that it started."""

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
    """The processes that PySpark starts while `watched`: a shell that becomes the JVM, and another JVM before it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Replaces Popen by one that reports the process at once: PySpark does so only when the JVM is ready."""
        from pyspark import java_gateway  # noqa: PLC0415 slow to import

        module: Any = java_gateway
        plain = module.Popen
        module.Popen = self._started
        try:
            yield
        finally:
            module.Popen = plain

    def end(self) -> None:
        """Kills the process and its children, which have a process group of their own."""
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
    """Whether Ctrl-C caused the error: cleanup can fail, too, if Spark has not started completely."""
    while failed is not None:
        if isinstance(failed, KeyboardInterrupt):
            return True
        failed = failed.__cause__ or failed.__context__
    return False


@contextmanager
def _later() -> Iterator[None]:
    """Delays Ctrl-C until the block is done."""
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
