"""``kms=<class>``, where the class is one of Iceberg's key management clients."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.access import COLUMNS, FOOTER, PII, read, rows
from tests.kms.material import bend_material
from tests.support import java
from tests.support.canary import assert_encrypted_footers
from tests.support.expect import refused, save, untouched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

KMS = "kms.IcebergRealm"
NORTH = pme.KmsClass(KMS, properties={"realm": "north"})
SOUTH = pme.KmsClass(KMS, properties={"realm": "south"})
PROPERTIES = "kms.properties"
SESSION = f"spark.datasource.pme-parquet.{PROPERTIES}"


@pytest.fixture(scope="module", autouse=True)
def _client(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compile the client, and the interface that it implements, to where Spark finds them."""
    here = Path(__file__)
    java.load(spark, tmp_path_factory, here.with_name("KeyManagementClient.java"), here.with_name("IcebergRealm.java"))


@pytest.fixture(autouse=True)
def _named(conf: Conf) -> Iterator[None]:
    """Let the session say where credentials may go."""
    with conf({SESSION: NORTH.options()[PROPERTIES]}):
        yield


def encryption(**fields: str) -> dict[str, str]:
    return pme.Encryption(kms=NORTH, footer_key=FOOTER, column_keys=COLUMNS, key_material="external").options() | fields


def test_a_table_is_written_and_read_with_the_client_s_own_keys(
    spark: SparkSession, frame: DataFrame, target: str, conf: Conf
) -> None:
    save(frame, target, encryption())
    assert_encrypted_footers(target)
    # The properties of the session are there without being named.
    for options in (NORTH.options(), {"kms": KMS}):
        assert rows(read(spark, target, options)) == rows(frame)
    south = SOUTH.options()
    with conf({SESSION: south[PROPERTIES]}), refused("PME_NOT_AUTHENTIC", f"'{FOOTER}'"):
        read(spark, target, south).collect()
    # Keys that no reader has yet.
    altered = f"{target}-altered"
    save(frame, altered, encryption())
    bend_material(altered, {"masterKeyID": PII})
    with refused("PME_NOT_AUTHENTIC", f"'{PII}'"):
        read(spark, altered, NORTH.options()).collect()
    bend_material(altered, {"wrappedKEK": "%%%"})
    with refused("PME_KEY_METADATA", "base64"):
        read(spark, altered, NORTH.options()).collect()


def test_a_clients_failure_is_reported_by_its_cause(spark: SparkSession, frame: DataFrame, target: str) -> None:
    for key, condition in (("none", "PME_KEY_NOT_FOUND"), ("down", "PME_KMS_UNAVAILABLE")):
        with untouched(target), refused(condition, KMS):
            save(frame, target, encryption(footerKey=key))
    # A client that does not start, and a class of neither kind.
    spark.conf.unset(SESSION)
    with untouched(target), refused("PME_KEY_NOT_FOUND", KMS):
        save(frame, target, pme.Encryption(kms=pme.KmsClass(KMS), footer_key=FOOTER).options())
    with untouched(target), refused("PME_BAD_OPTION", "KmsClient", "KeyManagementClient"):
        save(frame, target, pme.Encryption(kms=pme.KmsClass("java.util.ArrayList"), footer_key=FOOTER).options())


def test_properties_that_are_no_object_of_texts_are_refused_and_not_repeated(
    frame: DataFrame, target: str, conf: Conf
) -> None:
    for properties in ("realm=hush-hush", '["hush-hush"]', '{"realm": {"hush-hush": 1}}', ""):
        same = conf({SESSION: properties})
        with same, untouched(target), refused("PME_BAD_OPTION", PROPERTIES, never=("hush-hush",)):
            save(frame, target, encryption(**{PROPERTIES: properties}))
