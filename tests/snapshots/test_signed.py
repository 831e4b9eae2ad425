"""A signed snapshot can be verified by every reader, and made only with the signing key."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.expect import refused
from tests.support.frames import people
from tests.support.sealing import expected, plant
from tests.support.session import ALIASES, PASSWORD, PASSWORD_VARIABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrameWriter, SparkSession

NOT_AUTHENTIC = "PME_SNAPSHOT_NOT_AUTHENTIC"


class Signer:
    """A keystore with the usual master keys and signing keys, and the public keys as PEM files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "signer.p12"
        self.keys = pme.Keystore(str(self.path), password=pme.env(PASSWORD_VARIABLE))
        self.keys.create(ALIASES)

    def add(self, alias: str, *algorithm: str) -> pme.SecretReference:
        """Add a signing key, and return the reference to its public key."""
        pem = self.directory / f"{alias}.pem"
        store = ["-keystore", str(self.path), "-storepass", PASSWORD, "-alias", alias]
        self._keytool("-genkeypair", *store, *algorithm, "-dname", "CN=test", "-validity", "1")
        self._keytool("-exportcert", "-rfc", *store, "-file", str(pem))
        return pme.file(str(pem))

    @staticmethod
    def _keytool(*arguments: str) -> None:
        keytool = shutil.which("keytool")
        assert keytool
        subprocess.run([keytool, *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Signer:
    """Return the signer of this file's tests."""
    assert spark is not None  # It has set the password in the environment.
    return Signer(tmp_path_factory.mktemp("signer"))


@pytest.fixture(scope="module")
def public(signer: Signer) -> pme.SecretReference:
    """Return the public key of the Ed25519 key ``publisher``."""
    return signer.add("publisher", "-keyalg", "Ed25519")


def writer(spark: SparkSession, signer: Signer, start: int = 0) -> DataFrameWriter:
    """Return a writer of some people under the keystore."""
    encryption = pme.Encryption(kms=signer.keys, footer_key="footer", column_keys={"pii": ["name", "ssn"]})
    return people(spark, start).coalesce(1).write.format("pme-parquet").options(**encryption.options())


def write(spark: SparkSession, signer: Signer, path: str) -> None:
    """Write some people under the keystore."""
    writer(spark, signer).save(path)


def count(spark: SparkSession, signer: Signer, path: str, **options: Any) -> int:
    """Return how many rows a read finds."""
    given = {name: str(value) for name, value in options.items()}
    frame = spark.read.format("pme-parquet").options(**signer.keys.options(), **given).load(path)
    return len(frame.collect())


def seal(spark: SparkSession, signer: Signer, path: str, **arguments: Any) -> pme.Sealed:
    """Seal the table."""
    return pme.seal(spark, path, kms=signer.keys, expect=expected(path), **arguments)


@pytest.mark.parametrize("algorithm", ["Ed25519", "SHA256withECDSA"])
def test_a_reader_with_the_public_key_reads_a_signed_table(
    spark: SparkSession, signer: Signer, target: str, algorithm: str
) -> None:
    kind = ("-keyalg", "Ed25519") if algorithm == "Ed25519" else ("-keyalg", "EC", "-groupname", "secp256r1")
    alias = algorithm.lower()
    public = signer.add(alias, *kind)
    write(spark, signer, target)
    made = seal(spark, signer, target, signing=alias)
    assert (made.algorithm, made.key) == (algorithm, alias)
    assert count(spark, signer, target, verifyKey=public) == 20
    plant(writer(spark, signer, 20), target)
    with refused("PME_SNAPSHOT_MISMATCH"):
        count(spark, signer, target, verifyKey=public)
    assert seal(spark, signer, target, signing=alias).version == 2
    assert count(spark, signer, target, verifyKey=public) == 40


def test_a_signature_needs_the_public_key(
    spark: SparkSession, signer: Signer, public: pme.SecretReference, target: str
) -> None:
    write(spark, signer, target)
    seal(spark, signer, target, signing="publisher")
    with refused(NOT_AUTHENTIC, "verifyKey is not set", "snapshot=off"):
        count(spark, signer, target)
    other = signer.add("other-publisher", "-keyalg", "Ed25519")
    with refused(NOT_AUTHENTIC, "does not verify its signature"):
        count(spark, signer, target, verifyKey=other)
    assert count(spark, signer, target, verifyKey=public) == 20


def test_a_holder_of_all_read_keys_cannot_replace_a_signed_snapshot(
    spark: SparkSession, signer: Signer, public: pme.SecretReference, target: str
) -> None:
    write(spark, signer, target)
    seal(spark, signer, target, signing="publisher")
    shutil.rmtree(Path(target) / "_pme_snapshots")
    with refused("PME_SNAPSHOT_MISMATCH", "the table has no snapshot", "verifyKey"):
        count(spark.newSession(), signer, target, verifyKey=public)
    plant(writer(spark, signer, 20), target)
    seal(spark.newSession(), signer, target)
    with refused(NOT_AUTHENTIC, "HMAC-SHA256", "verifyKey verifies Ed25519"):
        count(spark.newSession(), signer, target, verifyKey=public)


def test_a_signed_table_is_not_sealed_on_with_an_hmac_or_another_key(
    spark: SparkSession, signer: Signer, public: pme.SecretReference, target: str
) -> None:
    write(spark, signer, target)
    seal(spark, signer, target, signing="publisher")
    signer.add("third", "-keyalg", "Ed25519")
    with refused(NOT_AUTHENTIC, "verifyKey is not set"):
        seal(spark, signer, target)
    with refused(NOT_AUTHENTIC, "does not verify"):
        seal(spark, signer, target, signing="third")
    assert seal(spark, signer, target, signing="third", verify_key=public).key == "third"
    with refused(NOT_AUTHENTIC, "does not verify"):
        count(spark, signer, target, verifyKey=public)


def test_a_rotation_of_a_signed_table_signs_its_next_version(
    spark: SparkSession, signer: Signer, public: pme.SecretReference, target: str
) -> None:
    write(spark, signer, target)
    seal(spark, signer, target, signing="publisher")
    new = {"footer": "other"}
    with refused(NOT_AUTHENTIC, "verifyKey is not set"):
        pme.rotate(spark, target, kms=signer.keys, master_keys=new)
    report = pme.rotate(spark, target, kms=signer.keys, master_keys=new, options={"signingKey": "publisher"})
    assert report.counts == {"rotated": 1}
    assert [(one.version, one.key) for one in pme.snapshots(target)] == [(1, "publisher"), (2, "publisher")]
    assert count(spark, signer, target, verifyKey=public, minSnapshot=2) == 20


@pytest.mark.usefixtures("public")
def test_rows_of_an_hmac_are_not_taken_over_by_a_signature(spark: SparkSession, signer: Signer, target: str) -> None:
    write(spark, signer, target)
    seal(spark, signer, target)
    with refused(NOT_AUTHENTIC, "HMAC-SHA256"):
        seal(spark, signer, target, signing="publisher")


def test_a_plaintext_table_can_be_signed(
    spark: SparkSession, signer: Signer, public: pme.SecretReference, target: str
) -> None:
    people(spark).repartition(2).write.parquet(target)
    plain = {"plaintextFiles": "allow"}
    pme.seal(spark, target, kms=signer.keys, options=plain, signing="publisher", expect="unsealed")
    assert count(spark, signer, target, verifyKey=public, **plain) == 20
    data_files(target)[0].unlink()
    with refused("PME_SNAPSHOT_MISMATCH"):
        count(spark, signer, target, verifyKey=public, **plain)


@pytest.mark.parametrize("text", ["not a key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"])
def test_a_reference_that_leads_to_no_public_key_is_refused(
    spark: SparkSession, signer: Signer, target: str, tmp_path: Path, text: str
) -> None:
    write(spark, signer, target)
    pem = tmp_path / "some.pem"
    pem.write_text(text)
    with refused("PME_BAD_OPTION", "verifyKey"):
        count(spark, signer, target, verifyKey=pme.file(str(pem)))
    with refused("PME_SECRET_IN_OPTION", "verifyKey"):
        count(spark, signer, target, verifyKey="-----BEGIN PUBLIC KEY-----")


def test_a_missing_and_an_unfit_signing_key_are_refused(spark: SparkSession, signer: Signer, target: str) -> None:
    write(spark, signer, target)
    signer.add("rsa", "-keyalg", "RSA")
    with refused("PME_KEY_NOT_FOUND", "nobody"):
        seal(spark, signer, target, signing="nobody")
    with refused("PME_KEY_NOT_FOUND", "rsa"):
        seal(spark, signer, target, signing="rsa")
    assert not (Path(target) / "_pme_snapshots").exists()
