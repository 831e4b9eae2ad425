"""Which certificates of a Vault are trusted, and that nothing is sent to any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.access import KEYS, encryption, read, rows, secret
from tests.support.expect import refused, save, untouched
from tests.support.kms.certificates import Authority

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.transit_server import TransitServer


pytestmark = pytest.mark.nightly


def access(vault: TransitServer, directory: Path, ca_cert: Path | None) -> pme.Vault:
    return pme.Vault(vault.url, token=secret(directory, vault.token(KEYS)), ca_cert=ca_cert)


def test_a_vault_whose_authority_is_given_is_trusted(
    spark: SparkSession, trusted: TransitServer, authority: Authority, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = access(trusted, tmp_path, authority.path)
    save(frame, target, encryption(keys).options())
    assert rows(read(spark, target, keys.options())) == rows(frame)
    assert trusted.url.startswith("https://")


def test_a_vault_of_an_unknown_authority_gets_no_request(
    spark: SparkSession, trusted: TransitServer, frame: DataFrame, table: str, target: str, tmp_path: Path
) -> None:
    keys = access(trusted, tmp_path, Authority(tmp_path, "others").path)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", trusted.url, "certificate"):
        save(frame, target, encryption(keys).options())
    with refused("PME_KMS_UNAVAILABLE", ".parquet", trusted.url, "certificate"):
        read(spark, table, keys.options()).collect()
    assert trusted.calls == []


def test_a_file_of_authorities_that_is_missing_or_holds_none_is_refused(
    trusted: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    text = tmp_path / "text.pem"
    text.write_text("no certificate\n")
    for path, mention in ((tmp_path / "missing.pem", "missing.pem"), (text, "certificates")):
        with untouched(target), refused("PME_KMS_UNAVAILABLE", mention):
            save(frame, target, encryption(access(trusted, tmp_path, path)).options())
    assert trusted.calls == []
