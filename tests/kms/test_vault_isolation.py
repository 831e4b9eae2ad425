"""Two Vaults, two mounts or two tokens in one session: no reader opens anything with what another was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kms.access import FOOTER, KEYS, PAY, PII, by_token, encryption, read, rows
from tests.kms.transit_key import TransitKey
from tests.kms.transit_server import TransitServer
from tests.support.expect import refused, save

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def other() -> Iterator[TransitServer]:
    """Return another Vault, whose keys have the same names."""
    with TransitServer(keys={name: TransitKey() for name in KEYS}) as made:
        yield made


@pytest.fixture
def theirs(other: TransitServer, frame: DataFrame, tmp_path: Path) -> str:
    """Return a table that was written through the other Vault."""
    path = str(tmp_path / "theirs")
    save(frame, path, encryption(by_token(other, tmp_path)).options())
    other.calls.clear()
    return path


def known(vault: TransitServer) -> bool:
    """Say whether each token that arrived at this Vault is one of its own."""
    return all(call.accessor for call in vault.calls)


def test_each_vault_reads_its_own_table(
    spark: SparkSession,
    server: TransitServer,
    other: TransitServer,
    table: str,
    theirs: str,
    frame: DataFrame,
    tmp_path: Path,
) -> None:
    ours_read = read(spark, table, by_token(server, tmp_path).options())
    theirs_read = read(spark, theirs, by_token(other, tmp_path).options())
    assert rows(theirs_read) == rows(ours_read) == rows(frame)
    assert ours_read.join(theirs_read, "id").count() == frame.count()
    for vault in (server, other):
        assert known(vault)
        assert sorted(vault.paths()) == sorted(f"transit/decrypt/{key}" for key in KEYS)


def test_the_wrong_vault_or_mount_opens_nothing_before_or_after_the_right_one(
    spark: SparkSession, server: TransitServer, other: TransitServer, table: str, frame: DataFrame, tmp_path: Path
) -> None:
    right, wrong = by_token(server, tmp_path).options(), by_token(other, tmp_path).options()
    for _ in range(2):
        with refused("PME_NOT_AUTHENTIC", f"'{FOOTER}'", ".parquet"):
            read(spark, table, wrong).collect()
        assert rows(read(spark, table, right)) == rows(frame)
    schema = read(spark, table, right).schema
    with refused("PME_NOT_AUTHENTIC", f"'{FOOTER}'"):
        spark.read.format("pme-parquet").schema(schema).options(**wrong).load(table).collect()
    assert known(server)
    assert known(other)
    # A mount with keys of the same names.
    server.state.mounts["", "beside"] = {name: TransitKey() for name in KEYS}
    with refused("PME_NOT_AUTHENTIC", f"'{FOOTER}'"):
        read(spark, table, right | {"kms.vault.mount": "beside"}).collect()


def test_a_token_with_fewer_keys_or_none_gets_none_from_one_with_all(
    spark: SparkSession, server: TransitServer, table: str, frame: DataFrame, tmp_path: Path
) -> None:
    full = read(spark, table, by_token(server, tmp_path).options())
    limited = read(spark, table, by_token(server, tmp_path, [FOOTER, PAY]).options())
    assert rows(full) == rows(frame)
    assert rows(limited.select("id", "salary")) == rows(frame.select("id", "salary"))
    for mixed in (
        limited.select("ssn"),
        full.select("ssn").union(limited.select("ssn")),
        limited.select("ssn").union(full.select("ssn")),
    ):
        with refused("PME_KEY_DENIED", f"'{PII}'"):
            mixed.collect()
    # A token that was taken away opens nothing for a new reader.
    late = by_token(server, tmp_path)
    server.state.expire()
    with refused("PME_KMS_UNAVAILABLE", "token"):
        read(spark, table, late.options()).collect()
