"""The requirements of every refusal: the right condition, a reason and a remedy, and no secret in the text."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.session import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

# Sequences that a key, a tag or a wrapped key would have, and no path or name of these tests.
HEX = re.compile(r"[0-9a-fA-F]{24,}")
BASE64 = re.compile(r"[A-Za-z0-9+/]{22,}==|[A-Za-z0-9+]{43,}=?")


@contextmanager
def refused(condition: str, *mentions: str, never: tuple[str, ...] = ()) -> Iterator[None]:
    """Fail unless the block raises a ``PmeError`` of this condition that mentions these words and none of ``never``."""
    with pytest.raises(pme.PmeError) as caught:
        yield
    error = caught.value
    text = str(error)
    assert error.condition == condition, text
    for words in mentions:
        assert words in text
    assert_remedy(text)
    assert_no_secret(text, never)


def assert_remedy(text: str) -> None:
    """Fail unless the message has the form *where: what happened: why. What to do.*"""
    first = text.splitlines()[0]
    assert ": " in first, f"no place: {first}"
    sentences = re.split(r"[.;?] ", first.rstrip(" ."))
    assert len(sentences) > 1, f"no remedy: {first}"


def assert_no_secret(text: str, never: tuple[str, ...] = ()) -> None:
    """Fail if the text repeats a secret, or contains something that looks like a key or a tag."""
    for secret in (PASSWORD, *never):
        assert secret not in text
    assert not HEX.search(text), text
    assert not BASE64.search(text), text


def save(frame: DataFrame, target: str, options: dict[str, str]) -> None:
    """Write the frame with these options to a new place."""
    frame.write.format("pme-parquet").options(**options).save(target)


def snapshot(directory: Path | str) -> dict[str, bytes]:
    """Return every file under the directory with its content; nothing if there is no directory."""
    root = Path(directory)
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@contextmanager
def untouched(directory: Path | str) -> Iterator[None]:
    """Fail if the block adds anything to the directory or removes anything from it."""
    existed = Path(directory).exists()
    before = snapshot(directory)
    try:
        yield
    finally:
        # Checked even if the block fails, because the expectation of that error may be outside.
        assert snapshot(directory) == before
        assert Path(directory).exists() == existed, f"{directory} was left behind"
