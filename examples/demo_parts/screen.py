"""The demo's output: numbered steps, indented lines, one table."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MEBIBYTE = 1024 * 1024


class Screen:
    """Numbers the steps, so that the user can see the progress."""

    def __init__(self, steps: int) -> None:
        """Start before the first step."""
        self._steps = steps
        self._step = 0

    def step(self, title: str) -> None:
        """Begin the next step."""
        self._step += 1
        say(f"\n[{self._step}/{self._steps}] {title}", indent=0)


def say(text: str = "", indent: int = 6) -> None:
    """Print the text at once, every line indented."""
    for line in text.split("\n"):
        sys.stdout.write(f"{' ' * indent}{line}".rstrip() + "\n")
    sys.stdout.flush()


@contextmanager
def timed(label: str) -> Iterator[None]:
    """Print the label before the work and its seconds after it, on one line."""
    sys.stdout.write(f"      {label} ")
    sys.stdout.flush()
    start = time.perf_counter()
    try:
        yield
    except BaseException:
        sys.stdout.write("failed\n")
        raise
    sys.stdout.write(f"{time.perf_counter() - start:.1f} s\n")
    sys.stdout.flush()


@contextmanager
def errors_into(log: Path) -> Iterator[None]:
    """Redirect stderr of processes started within to a file, for good: JVM warnings must not break up the output."""
    sys.stderr.flush()
    screen = os.dup(sys.stderr.fileno())
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), sys.stderr.fileno())
            yield
    except BaseException:
        os.write(screen, log.read_bytes())
        raise
    finally:
        os.dup2(screen, sys.stderr.fileno())
        os.close(screen)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out rows under a header: the first column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        first, *rest = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join((first, *rest))

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, rows)])


def mebibytes(size: int) -> str:
    """Return a size in readable form."""
    return f"{size / MEBIBYTE:,.1f} MiB"
