"""`VaultKmsClient`: the same keys through parquet-java's interface, in Spark's own ``parquet`` source."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kms.access import FOOTER, KEYS, PAY, by_token, encryption, rows
from tests.kms.material import bend_material
from tests.kms.transit_server import TransitServer
from tests.support.expect import DONE, outcome, save

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

PREFIX = "parquet.encryption."
CLIENT = {
    "parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
    f"{PREFIX}kms.client.class": "io.pmeparquet.kms.VaultKmsClient",
}


def client(vault: TransitServer, token: str) -> dict[str, str]:
    """Return the settings of parquet-java, which takes the token itself."""
    return CLIENT | {f"{PREFIX}kms.instance.url": vault.url, f"{PREFIX}key.access.token": token}


def test_spark_parquet_reads_what_we_wrote_and_we_read_what_it_wrote(
    spark: SparkSession, server: TransitServer, table: str, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    settings = client(server, server.token(KEYS))
    assert rows(spark.read.options(**settings).parquet(table)) == rows(frame)
    assert sorted(set(server.paths())) == sorted(f"transit/decrypt/{key}" for key in KEYS)
    keys = {f"{PREFIX}footer.key": FOOTER, f"{PREFIX}column.keys": "pii: ssn; pay: salary"}
    frame.write.options(**settings, **keys).parquet(target)
    reader = spark.read.format("pme-parquet").options(**by_token(server, tmp_path).options())
    assert rows(reader.load(target)) == rows(frame)
    # A token reads the columns whose keys it may use.
    few = spark.read.options(**client(server, server.token([FOOTER, PAY]))).parquet(table)
    assert rows(few.select("id", "salary")) == rows(frame.select("id", "salary"))
    assert outcome(lambda: few.select("ssn").collect()) != DONE


@pytest.mark.parametrize("configured", ["kms.vault.url", "kms.instance.url", None])
def test_the_address_in_key_material_gets_no_token(
    spark: SparkSession, server: TransitServer, frame: DataFrame, target: str, tmp_path: Path, configured: str | None
) -> None:
    # parquet-java hands a client the address that a file names, wherever the configuration has none.
    save(frame, target, encryption(by_token(server, tmp_path), key_material="external").options())
    settings = CLIENT | {f"{PREFIX}key.access.token": server.token(KEYS)}
    settings[f"{PREFIX}key.material.store.internally"] = "false"
    if configured:
        settings[PREFIX + configured] = server.url
    with TransitServer() as planted:
        bend_material(target, {"kmsInstanceURL": planted.url, "kmsInstanceID": "planted"})
        done = outcome(lambda: spark.read.options(**settings).parquet(target).collect())
        assert planted.calls == []
    assert (done == DONE) == (configured is not None)
