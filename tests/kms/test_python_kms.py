"""``pme.PythonKms``: master keys behind a client in Python, which the driver asks once for each key."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.kms.access import read, rows
from tests.support.canary import assert_encrypted_footers, data_files
from tests.support.expect import refused, save
from tests.support.interop import arrow_files, modes
from tests.support.interop.modes import MODES
from tests.support.interop.samples import MAPS, arrow_frame, arrow_table, spark_frame, spark_table
from tests.support.kms.clients import Client
from tests.support.kms.counting import FOOTER, column_keys, encryption, frame
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

FILES = 20
JAVA = {
    "parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
    "parquet.encryption.kms.client.class": TEST_KMS,
}

every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])
every_reader = pytest.mark.parametrize("reader", ["pages", "spark"])


@pytest.fixture(scope="module")
def content(spark: SparkSession) -> DataFrame:
    return frame(spark, 3, FILES)


@pytest.fixture(scope="module")
def table(content: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a table that a client with the testkit's keys wrote."""
    path = str(tmp_path_factory.mktemp("python") / "table")
    save(content, path, pme.PythonKms(Client()).options() | encryption(3))
    return path


def keys(times: int = 1) -> dict[str, int]:
    return dict.fromkeys([FOOTER, *column_keys(3)], times)


@every_scan
@every_reader
def test_a_table_is_written_and_read_with_one_call_for_each_key(
    spark: SparkSession, content: DataFrame, target: str, scan: str, reader: str
) -> None:
    client = Client()
    client_kms = pme.PythonKms(client)
    options = client_kms.options()
    save(content, target, options | encryption(3))
    assert_encrypted_footers(target)
    assert len(data_files(target)) == FILES
    assert client.count("wrap") == keys()
    # Each time from the client's KMS: it is the same reader.
    again = client_kms.options() | {"scan": scan, "reader": reader}
    for given in (options | {"scan": scan, "reader": reader}, again, again):
        assert rows(read(spark, target, given)) == rows(content)
        assert client.count("unwrap") == keys()


def test_the_client_gets_and_gives_keys_as_bytes(spark: SparkSession, content: DataFrame, tmp_path: Path) -> None:
    seen: list[Any] = []

    class Watched(Client):
        def wrap_key(self, key: bytes, master_key_id: str) -> str:
            seen.append(key)
            return super().wrap_key(key, master_key_id)

        def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
            seen.append(super().unwrap_key(wrapped, master_key_id))
            return bytearray(seen[-1])  # type: ignore[return-value]  # which Python takes for bytes

    sizes: list[Any] = [128, 192, 256]
    for bits in sizes:
        seen.clear()
        kms, target = pme.PythonKms(Watched()), str(tmp_path / str(bits))
        save(content.coalesce(1), target, pme.Encryption(kms=kms, uniform_key="one", kek_bits=bits).options())
        assert rows(read(spark, target, kms.options())) == rows(content)
        wrapped, unwrapped = seen
        assert isinstance(wrapped, bytes)
        assert len(wrapped) * 8 == bits
        assert wrapped == unwrapped


def test_any_text_is_a_master_key_id_or_a_wrapped_key(
    spark: SparkSession, content: DataFrame, target: str, tmp_path: Path
) -> None:
    for at, name in enumerate(["schlüssel ✓", "arn:aws:kms:eu:1:key/a-b", "with 'quotes\" and \\"]):
        client, path = Client(), str(tmp_path / str(at))
        kms = pme.PythonKms(client)
        save(content, path, kms.options() | {"uniformKey": name})
        assert rows(read(spark, path, kms.options())) == rows(content)
        assert client.calls == [("wrap", name), ("unwrap", name)]
    client = Client()
    with refused("PME_BAD_OPTION", "control characters"):
        save(content, target, pme.PythonKms(client).options() | {"uniformKey": "line\nbreak"})
    assert client.calls == []
    prefix = 'vault:v1 "ü✓"\\\n{}: '

    class Odd(Client):
        def wrap_key(self, key: bytes, master_key_id: str) -> str:
            return prefix + super().wrap_key(key, master_key_id)

        def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
            assert wrapped.startswith(prefix)
            return super().unwrap_key(wrapped.removeprefix(prefix), master_key_id)

    kms = pme.PythonKms(Odd())
    save(content, target, kms.options() | encryption(3))
    assert rows(read(spark, target, kms.options())) == rows(content)


def test_the_client_is_asked_for_several_keys_at_once(spark: SparkSession, target: str) -> None:
    wide = frame(spark, 30, 2)
    save(wide, target, pme.PythonKms(Client()).options() | encryption(30))
    client = Client(pause=1)
    began = time.monotonic()
    assert rows(read(spark, target, pme.PythonKms(client).options())) == rows(wide)
    assert time.monotonic() - began < len(client.calls) / 2
    assert client.count("unwrap") == dict.fromkeys([FOOTER, *column_keys(30)], 1)


@pytest.mark.parametrize("mode", [MODES[4], MODES[6], MODES[8]], ids=str)
def test_pyarrow_and_parquet_java_read_what_it_wrote_and_it_reads_what_they_wrote(
    spark: SparkSession, tmp_path: Path, target: str, mode: modes.Mode
) -> None:
    expected = arrow_table(arrow_frame())
    kms = pme.PythonKms(Client()).options()
    spark_frame(spark).write.format("pme-parquet").options(**modes.our_options(mode, "") | kms).save(target)
    [file] = data_files(target)
    assert arrow_table(arrow_files.read(file, external=mode.external)) == expected
    assert spark_table(spark.read.options(**JAVA).parquet(target), maps=MAPS) == expected
    arrow_files.write(arrow_frame(), tmp_path / "arrow.parquet", mode)
    ours = read(spark, str(tmp_path / "arrow.parquet"), kms | {"algorithm": mode.algorithm})
    assert spark_table(ours, maps=MAPS) == expected


def test_py4j_logs_no_secret_of_the_callback_and_each_call_has_a_new_one(
    spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[str] = []

    def token_urlsafe() -> str:
        made.append(f"callback-secret-{len(made)}")
        return made[-1]

    monkeypatch.setattr("secrets.token_urlsafe", token_urlsafe)
    kms = pme.PythonKms(Client())
    with caplog.at_level(logging.DEBUG, logger="py4j"):
        for _ in range(2):
            assert rows(read(spark, table, kms.options()))
    assert len(made) >= 2
    assert "(redacted)" in caplog.text
    assert not [secret for secret in made if secret in caplog.text]
