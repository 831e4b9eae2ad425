"""What Spark's JVM writes to stderr: kept back while Spark starts, in case the start fails, and shown afterwards."""

from __future__ import annotations

import os
import sys
from collections import deque
from threading import Lock, Thread

_KEPT = 400


class Chatter:
    """Reads a pipe to its end.

    Attributes:
        file: the end of the pipe that the JVM gets.
    """

    def __init__(self, *, shown: bool) -> None:
        ours, self.file = os.pipe()
        self._shown = shown
        self._kept: deque[str] = deque(maxlen=_KEPT)
        self._lock = Lock()
        Thread(target=self._read, args=(ours,), daemon=True).start()

    def show(self) -> None:
        """Shows what comes from now on. The JVM has its own copy of the pipe's end."""
        os.close(self.file)
        with self._lock:
            self._shown = True

    def last(self, most: int) -> list[str]:
        """The last lines that contain a message, without frames of stack traces."""
        with self._lock:
            lines = [line.rstrip() for line in self._kept if not line.lstrip().startswith("at ") and line.strip()]
        return lines[-most:]

    def _read(self, ours: int) -> None:
        with os.fdopen(ours, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                with self._lock:
                    self._kept.append(line)
                    if self._shown:
                        sys.stderr.write(line)
                        sys.stderr.flush()
