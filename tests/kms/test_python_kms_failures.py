"""What a KMS client in Python can do wrong: each has its condition, and its texts and keys go no further."""

from __future__ import annotations

import functools
import threading
import traceback
from asyncio import CancelledError
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.kms.access import read
from tests.support.expect import refused, save, untouched
from tests.support.kms.clients import Client
from tests.support.kms.counting import encryption, frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

PATIENCE = 60
SECRET_TEXT = "hunter2-a7c1"

every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])


class Changed(Client):
    """Does something else than wrap or unwrap keys, once a test asks it to."""

    def __init__(self) -> None:
        super().__init__()
        self.wrapping: Callable[[], Any] | None = None
        self.unwrapping: Callable[[], Any] | None = None

    def wrap_key(self, key: bytes, master_key_id: str) -> str:
        wrapped = super().wrap_key(key, master_key_id)
        return self.wrapping() if self.wrapping else wrapped

    def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
        key = super().unwrap_key(wrapped, master_key_id)
        return self.unwrapping() if self.unwrapping else key


def raising(error: BaseException) -> Callable[[], Any]:
    def call() -> Any:
        raise error

    return call


def identity(answer: object) -> Any:
    return answer


@pytest.fixture(scope="module")
def content(spark: SparkSession) -> DataFrame:
    return frame(spark, 3, 10)


@pytest.fixture(scope="module")
def table(content: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a table that a client which does nothing wrong wrote."""
    path = str(tmp_path_factory.mktemp("python") / "table")
    save(content, path, pme.PythonKms(Client()).options() | encryption(3))
    return path


FAILURES = [
    (PermissionError(SECRET_TEXT), "PME_KEY_DENIED", ""),
    (KeyError(SECRET_TEXT), "PME_KEY_NOT_FOUND", ""),
    (LookupError(SECRET_TEXT), "PME_KEY_NOT_FOUND", ""),
    (ValueError(SECRET_TEXT), "PME_KMS_UNAVAILABLE", "ValueError"),
    (TimeoutError(SECRET_TEXT), "PME_KMS_UNAVAILABLE", "TimeoutError"),
    (pme.KeyDeniedError(SECRET_TEXT), "PME_KMS_UNAVAILABLE", "KeyDeniedError"),
]


def test_the_clients_exception_at_a_write_is_reported_by_its_type(content: DataFrame, target: str) -> None:
    for error, condition, mention in FAILURES:
        client = Changed()
        client.wrapping = raising(error)
        options = pme.PythonKms(client).options() | encryption(3)
        with untouched(target), refused(condition, mention, never=(SECRET_TEXT,)):
            save(content, target, options)
        assert max(client.count("wrap").values()) == 1


@every_scan
def test_the_clients_exception_at_a_read_is_reported_by_its_type(spark: SparkSession, table: str, scan: str) -> None:
    for error, condition, mention in FAILURES:
        client = Changed()
        planned = read(spark, table, pme.PythonKms(client).options() | {"scan": scan})
        client.calls.clear()
        client.unwrapping = raising(error)
        with refused(condition, ".parquet", mention, never=(SECRET_TEXT,)):
            planned.collect()
        assert max(client.count("unwrap").values()) == 1


def test_the_text_of_what_the_client_raises_is_nowhere_in_the_traceback(
    spark: SparkSession, table: str, capfd: pytest.CaptureFixture[str]
) -> None:
    client = Changed()
    client.unwrapping = raising(ValueError(SECRET_TEXT))
    with pytest.raises(pme.PmeError) as caught:
        read(spark, table, pme.PythonKms(client).options())
    assert SECRET_TEXT not in "".join(traceback.format_exception(caught.value))
    assert SECRET_TEXT not in str(caught.value.spark_error)
    assert SECRET_TEXT not in "".join(capfd.readouterr())


def test_what_is_no_exception_but_is_raised_ends_no_thread_and_keeps_nobody_waiting(
    spark: SparkSession, table: str
) -> None:
    def attempt(options: dict[str, str], raised: list[BaseException]) -> None:
        try:
            read(spark, table, options).collect()
        except BaseException as failed:  # noqa: BLE001 - whatever comes is checked below
            raised.append(failed)

    for error in (SystemExit(SECRET_TEXT), CancelledError(SECRET_TEXT)):
        client = Changed()
        client.unwrapping = raising(error)
        raised: list[BaseException] = []
        thread = threading.Thread(target=attempt, args=(pme.PythonKms(client).options(), raised), daemon=True)
        thread.start()
        thread.join(PATIENCE)
        assert [getattr(failed, "condition", failed) for failed in raised] == ["PME_KMS_UNAVAILABLE"]
        assert SECRET_TEXT not in str(raised[0])


def test_a_wrapped_key_that_is_no_text_is_no_answer(content: DataFrame, target: str) -> None:
    for answer in (None, 7, b"bytes", "", ["list"], object()):
        client = Changed()
        client.wrapping = functools.partial(identity, answer)
        with untouched(target), refused("PME_KMS_UNAVAILABLE"):
            save(content, target, pme.PythonKms(client).options() | encryption(3))
    nothing: Any = object()
    with untouched(target), pytest.raises((pme.PmeError, TypeError)):
        save(content, target, pme.PythonKms(nothing).options() | encryption(3))


def test_a_key_that_is_no_bytes_or_another_than_the_writers_opens_nothing(spark: SparkSession, table: str) -> None:
    others = {b"": "PME_KEY_METADATA", b"short": "PME_KEY_METADATA", bytes(16): "PME_NOT_AUTHENTIC"}
    kinds: list[tuple[object, str]] = [(one, "PME_KMS_UNAVAILABLE") for one in (None, 7, "text", [1, 2], object())]
    for answer, condition in (*kinds, *others.items()):
        client = Changed()
        client.unwrapping = functools.partial(identity, answer)
        with refused(condition, ".parquet"):
            read(spark, table, pme.PythonKms(client).options())
