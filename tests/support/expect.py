"""What errors say, in any PySpark; each of ours has the right condition, a reason and a remedy, and no secret."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext

import pme_parquet as pme
from tests.support.session import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame

# Sequences that a key, a tag or a wrapped key would have, and no path or name of these tests.
HEX = re.compile(r"[0-9a-fA-F]{24,}")
BASE64 = re.compile(r"[A-Za-z0-9+/]{22,}==|[A-Za-z0-9+]{43,}=?")

DONE = "done"


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


def condition(error: BaseException) -> str:
    """Return the error's condition (``getErrorClass`` before PySpark 4.0), or the name of its class."""
    for name in ("getCondition", "getErrorClass"):
        method = getattr(error, name, None)
        if method is not None:
            return str(method() or type(error).__name__)
    return type(error).__name__


def innermost_condition(error: BaseException) -> str:
    """Return the error's condition, or that of the innermost cause if PySpark does not look at causes."""
    found = condition(error)
    cause = error.java_exception if isinstance(error, Py4JJavaError) else None
    while cause is not None:
        if is_instance_of(SparkContext._gateway, cause, "org.apache.spark.SparkThrowable"):
            found = str(cause.getErrorClass() or found)
        cause = cause.getCause()
    return found


def outcome(action: Callable[[], object], by: Callable[[BaseException], str] = condition) -> str:
    """Return "done", or the condition of the error that the action raises."""
    try:
        action()
    except Exception as error:  # noqa: BLE001 - any two outcomes are compared
        return by(error)
    return DONE
