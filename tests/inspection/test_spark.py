"""Our own files and those of Spark's `parquet` source, in every mode, and tables as Spark lays them out."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.inspection.expect import expect
from tests.support.canary import data_files
from tests.support.expect import refused
from tests.support.frames import people
from tests.support.interop import modes
from tests.support.interop.modes import MODES, Mode
from tests.support.interop.samples import spark_frame
from tests.support.session import SPARK_VERSION, TEST_KMS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FACTORY = {"parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"}


@pytest.mark.rows(3)
@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("source", ["pme-parquet", "parquet"])
def test_every_mode(spark: SparkSession, target: str, source: str, mode: Mode) -> None:
    # parquet-java reuses a key-encryption key for the same access token, whatever its length.
    token = {"parquet.encryption.key.access.token": str(mode)}
    theirs = FACTORY | modes.java_properties(mode, TEST_KMS) | token
    options = theirs if source == "parquet" else modes.our_options(mode, TEST_KMS)
    spark_frame(spark).write.format(source).options(**options).save(target)
    footer = "signed" if mode.plaintext_footer else "encrypted"
    # parquet-java 1.14 added what completes the columns.
    incomplete = source == "parquet" and SPARK_VERSION < (4, 0) and not mode.uniform
    unlisted = None if incomplete else "footer key"
    report = pme.inspect(target)
    expect(report, mode, footer=footer, writer="parquet-mr version", kek_bits=mode.bits, unlisted=unlisted)
    [file] = data_files(target)
    assert [(found.file, found.bytes) for found in report.files] == [(file.name, file.stat().st_size)]


@pytest.mark.oldest
def test_aad_prefixes(spark: SparkSession, enc: pme.Encryption, target: str) -> None:
    for store in (True, False):
        prefixed = replace(enc, aad_prefix="people:{file}", store_aad_prefix=store)
        writer = people(spark).coalesce(1).write.format("pme-parquet").mode("overwrite")
        writer.options(**prefixed.options()).save(target)
        [file] = pme.inspect(target).files
        expected = ("stored", f"people:{file.file}") if store else ("required", None)
        assert (file.aad_prefix, file.aad_prefix_value) == expected


def test_a_fifo_in_place_of_key_material_is_refused_and_nothing_waits(
    spark: SparkSession, keys: pme.Keystore, target: str
) -> None:
    encryption = pme.Encryption(kms=keys, footer_key="footer", key_material="external")
    spark.range(5).coalesce(1).write.format("pme-parquet").options(**encryption.options()).save(target)
    [material] = Path(target).glob("_KEY_MATERIAL_FOR_*")
    material.unlink()
    os.mkfifo(material)
    [finding] = pme.inspect(target).findings
    assert "not a regular file" in finding.message
    with refused("PME_KEY_METADATA", material.name):
        spark.read.format("pme-parquet").options(**keys.options()).load(target).collect()
