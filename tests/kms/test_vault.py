"""Tables whose master keys are in Vault: what is asked of it, how often, and what it is never asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support.canary import assert_encrypted_footers, assert_no_canaries, data_files
from tests.support.expect import refused, save, untouched
from tests.support.files.key_material import materials
from tests.support.kms.access import COLUMNS, FOOTER, KEYS, PAY, PII, by_token, encryption, read, rows, secret
from tests.support.kms.bend import bend_material
from tests.support.kms.transit_server import TransitServer
from tests.support.warnings import warnings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kms.access import Transit
    from tests.support.kms.transit_key import TransitKey
    from tests.support.source import Conf


def wrapped_keys(directory: str) -> set[str]:
    """Return the key-encryption keys, wrapped, that the key material beside the files names."""
    return {material["wrappedKEK"] for material in materials(Path(directory))}


def test_a_table_is_written_and_read_through_vault(
    spark: SparkSession, vault: Transit, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = by_token(vault, tmp_path)
    save(frame, target, encryption(keys).options())
    assert_encrypted_footers(target)
    assert_no_canaries(target, ["ssn-7", "salary"])
    assert rows(read(spark, target, keys.options())) == rows(frame)


@pytest.mark.parametrize("bits", [128, 192, 256])
def test_keys_of_every_length_come_back(
    spark: SparkSession, vault: Transit, frame: DataFrame, target: str, tmp_path: Path, bits: Any
) -> None:
    keys = by_token(vault, tmp_path)
    save(frame, target, encryption(keys, kek_bits=bits, data_key_bits=bits).options())
    assert rows(read(spark, target, keys.options())) == rows(frame)


def test_a_rotated_key_still_reads_old_files_and_wraps_new_ones_with_its_new_version(
    spark: SparkSession, vault: Transit, frame: DataFrame, tmp_path: Path
) -> None:
    vault.create("turning")
    keys = by_token(vault, tmp_path, ["turning"])
    paths = [str(tmp_path / name) for name in ("old", "new")]
    for path in paths:
        save(frame, path, pme.Encryption(kms=keys, uniform_key="turning", key_material="external").options())
        vault.rotate("turning")
    versions = [{wrapped.split(":")[1] for wrapped in wrapped_keys(path)} for path in paths]
    assert versions == [{"v1"}, {"v2"}]
    assert [rows(read(spark, path, keys.options())) for path in paths] == [rows(frame)] * 2


def test_a_reader_reads_the_columns_whose_keys_it_may_use(
    spark: SparkSession, vault: Transit, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    save(frame, target, encryption(by_token(vault, tmp_path)).options())
    few = read(spark, target, by_token(vault, tmp_path, [FOOTER, PAY]).options())
    assert rows(few.select("id", "salary")) == rows(frame.select("id", "salary"))
    with refused("PME_KEY_DENIED", f"'{PII}'", "ssn"):
        few.select("ssn").collect()


@pytest.mark.parametrize("partitions", [1, 4])
def test_a_write_asks_once_for_each_master_key(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path, partitions: int
) -> None:
    save(frame.repartition(partitions), target, encryption(by_token(server, tmp_path)).options())
    assert len(data_files(target)) == partitions
    assert sorted(server.paths()) == sorted(f"transit/encrypt/{key}" for key in KEYS)


def test_reads_of_many_files_ask_at_most_once_for_each_wrapped_key(
    spark: SparkSession, server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = by_token(server, tmp_path)
    for _ in range(2):
        written = encryption(keys, key_material="external").options()
        frame.repartition(3).write.format("pme-parquet").options(**written).mode("append").save(target)
    expected = wrapped_keys(target)
    assert len(expected) == 2 * len(KEYS)
    server.calls.clear()
    for _ in range(2):
        assert read(spark, target, keys.options()).count() == 2 * frame.count()
        assert rows(read(spark, target, keys.options())) == sorted(rows(frame) * 2)
    asked = [wrapped for call in server.calls for wrapped in call.wrapped]
    assert sorted(asked) == sorted(expected)


@pytest.mark.parametrize("under", [{"uniform_key": FOOTER}, {"footer_key": FOOTER, "column_keys": COLUMNS}])
def test_with_single_wrapping_too_no_wrapped_key_is_sent_twice(
    spark: SparkSession, server: TransitServer, frame: DataFrame, target: str, tmp_path: Path, under: dict[str, Any]
) -> None:
    keys = by_token(server, tmp_path)
    save(frame.repartition(2), target, pme.Encryption(kms=keys, double_wrapping=False, **under).options())
    server.calls.clear()
    assert rows(read(spark, target, keys.options())) == rows(frame)
    asked = [wrapped for call in server.calls for wrapped in call.wrapped]
    assert asked
    assert len(asked) == len(set(asked))


def test_nothing_is_sent_but_what_the_wire_format_asks_for(
    spark: SparkSession, server: TransitServer, table: str, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = by_token(server, tmp_path)
    save(frame, target, encryption(keys).options())
    assert rows(read(spark, table, keys.options())) == rows(frame)
    for call in server.calls:
        assert call.marked
        assert call.method == "POST"
        assert call.namespace == ""
        assert call.accessor == "accessor-1"
        assert call.fields in ({"plaintext"}, {"ciphertext"}, {"batch_input", "ciphertext"})


def test_another_mount_and_a_namespace_are_asked(
    spark: SparkSession,
    server: TransitServer,
    held: dict[str, TransitKey],
    table: str,
    frame: DataFrame,
    tmp_path: Path,
) -> None:
    with TransitServer(mount="kms/eu", namespace="team-a", keys=held) as other:
        assert rows(read(spark, table, by_token(other, tmp_path).options())) == rows(frame)
        assert {call.namespace for call in other.calls} == {"team-a"}
        assert all(path.startswith("kms/eu/decrypt/") for path in other.paths())


def test_the_session_can_hold_the_settings(
    spark: SparkSession, server: TransitServer, table: str, frame: DataFrame, tmp_path: Path, conf: Conf
) -> None:
    options = by_token(server, tmp_path).options()
    with conf({f"spark.datasource.pme-parquet.{name}": value for name, value in options.items()}):
        assert rows(spark.read.format("pme-parquet").load(table)) == rows(frame)
    assert server.calls


def test_a_url_may_end_with_a_slash(
    spark: SparkSession, server: TransitServer, table: str, frame: DataFrame, tmp_path: Path
) -> None:
    options = by_token(server, tmp_path).options() | {"kms.vault.url": f"{server.url}/"}
    assert rows(read(spark, table, options)) == rows(frame)


def outside(paths: Iterable[str]) -> list[str]:
    """Return the paths that are no call of the three keys."""
    allowed = {f"transit/{operation}/{key}" for operation in ("encrypt", "decrypt") for key in KEYS}
    return sorted(set(paths) - allowed)


def test_the_address_in_key_material_is_never_asked(
    spark: SparkSession, server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = by_token(server, tmp_path)
    save(frame, target, encryption(keys, key_material="external").options())
    with TransitServer() as planted:
        bend_material(target, {"kmsInstanceURL": planted.url, "kmsInstanceID": "planted"})
        assert rows(read(spark, target, keys.options())) == rows(frame)
        assert planted.calls == []


@pytest.mark.parametrize(
    "planted", ["../keys/footer", "footer/../pii", "a/b", "footer?x=1", "footer#x", "%2e%2e/pii", ""]
)
def test_a_key_id_in_key_material_leads_nowhere_else_in_vault(
    spark: SparkSession, server: TransitServer, frame: DataFrame, target: str, tmp_path: Path, planted: str
) -> None:
    keys = pme.Vault(server.url, token=secret(tmp_path, server.token()))
    save(frame, target, encryption(keys, key_material="external").options())
    bend_material(target, {"masterKeyID": planted})
    server.calls.clear()
    with pytest.raises(pme.PmeError):
        read(spark, target, keys.options()).collect()
    assert outside(server.paths()) == []


def test_a_key_id_that_vault_cannot_have_is_refused(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    named = "../keys/footer"
    keys = pme.Vault(server.url, token=secret(tmp_path, server.token()))
    with untouched(target), refused("PME_KEY_NOT_FOUND", f"'{named}'"):
        save(frame, target, pme.Encryption(kms=keys, footer_key=named).options())
    assert server.calls == []


def test_keys_that_cannot_leave_vault_are_no_data_keys(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    written = pme.Encryption(kms=by_token(server, tmp_path), footer_key=FOOTER, key_management="direct")
    with untouched(target), refused("PME_BAD_OPTION", "keyManagement=envelope"):
        save(frame, target, written.options())


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
