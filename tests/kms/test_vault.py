"""Tables whose master keys are in Vault: what is asked of it, how often, and what it is never asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kms.access import KEYS, by_token, encryption, read, rows
from tests.kms.material import bend_material
from tests.kms.transit_server import TransitServer
from tests.support.canary import assert_encrypted_footers, assert_no_canaries, data_files
from tests.support.expect import save
from tests.support.logs import warnings

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.access import Transit


def test_a_table_is_written_and_read_through_vault(
    spark: SparkSession, vault: Transit, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = by_token(vault, tmp_path)
    save(frame, target, encryption(keys).options())
    assert_encrypted_footers(target)
    assert_no_canaries(target, ["ssn-7", "salary"])
    assert rows(read(spark, target, keys.options())) == rows(frame)


def test_each_key_is_asked_for_once_and_nothing_else_is_sent(
    spark: SparkSession, server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = by_token(server, tmp_path)
    save(frame.repartition(4), target, encryption(keys).options())
    assert len(data_files(target)) == 4
    for _ in range(2):
        assert rows(read(spark, target, keys.options())) == rows(frame)
    calls = [f"transit/{operation}/{key}" for operation in ("encrypt", "decrypt") for key in KEYS]
    assert sorted(server.paths()) == sorted(calls)
    server.assert_sent_no_more_than_asked()


def test_the_address_in_key_material_is_never_asked(
    spark: SparkSession, server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = by_token(server, tmp_path)
    save(frame, target, encryption(keys, key_material="external").options())
    with TransitServer() as planted:
        bend_material(target, {"kmsInstanceURL": planted.url, "kmsInstanceID": "planted"})
        assert rows(read(spark, target, keys.options())) == rows(frame)
        assert planted.calls == []


def test_files_that_cost_a_call_for_each_data_key_are_reported_once(
    spark: SparkSession, vault: Transit, frame: DataFrame, tmp_path: Path
) -> None:
    keys = by_token(vault, tmp_path)
    told = {}
    for wrapping in (True, False):
        path = str(tmp_path / str(wrapping))
        save(frame.repartition(3), path, encryption(keys, double_wrapping=wrapping).options())
        with warnings(spark) as told[wrapping]:
            for _ in range(2):
                assert rows(read(spark, path, keys.options())) == rows(frame)
    assert told[True] == []
    [warning] = told[False]
    assert "doubleWrapping=false" in warning
    assert "pme.rekey" in warning
