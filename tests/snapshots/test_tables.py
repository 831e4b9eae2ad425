"""Sealed tables from Python to the connector and back: each path once. What reads and writes refuse is in jvm/spark."""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.snapshots.tables import KMS, MISMATCH, READERS, files_read, ids, load, plant, seal, write
from tests.support.canary import assert_no_canaries, data_files
from tests.support.expect import refused, untouched
from tests.support.files.anatomy import Anatomy
from tests.support.frames import call, people
from tests.support.session import PASSWORD, PASSWORD_VARIABLE, created
from tests.support.tables import expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HISTORY = ["version", "digest", "created", "creator", "files", "rows", "bytes", "algorithm", "key"]


@pytest.mark.each_spark
def test_a_table_is_sealed_read_written_and_expired(spark: SparkSession, target: str) -> None:
    keys = {"pii": ["name", "ssn"], "pay": "salary"}
    encryption = pme.Encryption(kms=pme.KmsClass(KMS["kms"]), footer_key="footer", column_keys=keys)
    pme.write(people(spark), target, encryption, options={"snapshot": "update"})
    sealed = seal(spark, target, index=[pme.MinMax("id"), pme.ValueList("country", max=8)])
    assert (sealed.version, sealed.opened, sealed.added) == (2, len(data_files(target)), 0)
    assert sealed.pin in str(sealed)
    plant(people(spark, 20).coalesce(1), target)
    with refused(MISMATCH, "is not in the list", "pme.seal"):
        ids(spark, target)
    with untouched(target), refused(MISMATCH, "added part-", "expect=1"):
        pme.seal(spark, target, options=KMS)
    assert seal(spark, target).opened == 1
    for how in ({"snapshot": "require"}, {"minSnapshot": sealed.pin, "scan": "v2"}):
        assert ids(spark.newSession(), target, **how) == list(range(40))
    assert files_read(load(spark, target).where("id = 25")) == 1
    assert [(one.version, one.files) for one in pme.snapshots(target)][-1] == (3, len(data_files(target)))
    assert pme.verify(spark, target, options=KMS).collect() == []
    dropped = pme.drop_index(spark, target, "country", options=KMS)
    assert (dropped.version, dropped.opened) == (4, 0)
    assert [index.name for index in pme.describe_index(target)] == ["id"]
    expired = pme.expire_snapshots(spark, target, keep=1, options=KMS)
    assert expired.versions == 3
    found = pme.snapshots(target)
    assert ([one.version for one in found], found.problems) == ([4], ())


def test_snapshots_lie_where_the_arguments_say(spark: SparkSession, target: str) -> None:
    write(people(spark).coalesce(1), target)
    location = f"{target}-lists"
    for _ in range(2):
        seal(spark, target, location=location)
    assert pme.expire_snapshots(spark, target, keep=1, options=KMS, location=location).versions == 1
    assert not Path(target, "_pme_snapshots").exists()
    assert ids(spark, target, snapshotLocation=location, snapshot="require") == list(range(20))


def test_statements_seal_a_table_and_list_its_versions(spark: SparkSession, target: str) -> None:
    write(people(spark).repartition(2), target)
    load(spark, target).schema  # noqa: B018 the session has the functions once it has used the format
    statement = call("pme_seal", target, options=KMS, expect=expected(target)).removesuffix(")")
    report = spark.sql(f"SELECT * FROM {statement}, min_max => array('id', 'address.zip'))")
    [row] = report.collect()
    [version] = pme.snapshots(target)
    assert (row.version, row.digest, row.files, row.rows, row.bytes) == (1, version.digest, 2, 20, version.bytes)
    assert (row.opened, row.algorithm, row.key) == (2, "HMAC-SHA256", "footer")
    assert Path(row.location.removeprefix("file:")) == Path(target, "_pme_snapshots")
    assert report.columns == list(pme.Sealed.__dataclass_fields__)
    assert [index.column for index in pme.describe_index(target)] == [("id",), ("address", "zip")]
    assert ids(spark, target, snapshot="require") == list(range(20))
    [listed] = spark.sql(f"SELECT * FROM {call('pme_snapshots', target, options=KMS)}").collect()
    assert listed.asDict() == {name: getattr(version, name) for name in HISTORY}


def test_a_key_of_a_keystore_signs_a_table(spark: SparkSession, target: str, tmp_path: Path) -> None:
    named = pme.Keystore(str(tmp_path / "signer.p12"), password=pme.env(PASSWORD_VARIABLE))
    keys = created(named, ["footer", "other"])
    pem, keytool = tmp_path / "publisher.pem", shutil.which("keytool")
    store = ["-keystore", keys.path, "-storepass", PASSWORD, "-alias", "publisher"]
    for step in (["-genkeypair", "-keyalg", "Ed25519", "-dname", "CN=test"], ["-exportcert", "-rfc", "-file", pem]):
        subprocess.run([keytool, *step, *store], check=True, capture_output=True)  # type: ignore[list-item]
    pme.write(people(spark).coalesce(1), target, pme.Encryption(kms=keys, footer_key="footer"))
    made = pme.seal(spark, target, kms=keys, signing="publisher", expect="unsealed")
    assert (made.algorithm, made.key) == ("Ed25519", "publisher")
    report = pme.rotate(spark, target, kms=keys, master_keys={"footer": "other"}, options={"signingKey": "publisher"})
    assert report.counts == {"rotated": 1}
    assert [(one.version, one.key) for one in pme.snapshots(target)] == [(1, "publisher"), (2, "publisher")]
    read = spark.read.format("pme-parquet").options(**keys.options())
    assert read.option("verifyKey", str(pme.file(str(pem)))).load(target).count() == 20
    with refused("PME_SNAPSHOT_NOT_AUTHENTIC", "verifyKey is not set", "snapshot=off"):
        spark.read.format("pme-parquet").options(**keys.options()).load(target).count()


def test_an_index_leaves_no_value_of_a_protected_column_readable(spark: SparkSession, target: str) -> None:
    write(people(spark).coalesce(1), target)
    seal(spark, target, index=[pme.MinMax("name", "ssn", "address.street")])
    assert_no_canaries(target, ["name-", "ssn-", "street-"])


def test_values_that_other_writers_leave_out_of_statistics_are_found(spark: SparkSession, tmp_path: Path) -> None:
    # Arrow does not count NaN in the least and the greatest value. In Spark NaN is greater than any other.
    values = pa.table(
        {
            "id": [1, 2, 3],
            "x": [1.0, math.nan, 2.0],
            "word": ["a" * 100, "żółw", None],
            "big": pa.array([1, 2**63, 5], pa.uint64()),
        }
    )
    (tmp_path / "table").mkdir()
    pq.write_table(values, tmp_path / "table" / "a.parquet")
    path, plaintext = str(tmp_path / "table"), {"plaintextFiles": "allow"}
    options = KMS | plaintext | {"footerKey": "footer"}
    pme.seal(spark, path, options=options, index=[pme.MinMax("id", "x", "word", "big")], expect="unsealed")
    for how in READERS.values():
        for condition in (
            "x > 100.0D",
            "x = double('NaN')",
            "isnan(x)",
            "x <> 1.0D",
            "NOT (x <= 2.0D)",
            "word > 'b'",
            "big > 100",
            "x = 0.5D",
        ):
            found = load(spark, path, **plaintext | how).where(condition).select("id").collect()
            unsealed = load(spark, path, snapshot="off", **plaintext | how).where(condition)
            assert sorted(found) == sorted(unsealed.select("id").collect()), (how, condition)


def in_place_of(content: bytes, other: bytes) -> bytes:
    """Return the first file with the ``aad_file_unique`` of the other one, as a holder of its keys can make it."""
    file, unique = Anatomy(content), Anatomy(other).aad
    made = bytearray(content)
    for module in file.modules:
        seal = module.seal._replace(aad=unique + module.seal.aad[len(file.aad) :])
        made[module.offset : module.end] = seal.seal(module.seal.open(file.bytes_of(module)))
    at = content.index(file.aad, file.footer_at)
    made[at : at + len(unique)] = unique
    return bytes(made)


def test_a_rotation_vouches_for_no_file_under_another_footer_key(
    spark: SparkSession, target: str, tmp_path: Path
) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    for start, path, keys in (
        (0, target, {"footerKey": "footer", "snapshot": "update"}),
        (500, elsewhere, {"footerKey": "pii"}),
    ):
        spark.range(start, start + 10, 1, 1).write.format("pme-parquet").options(**KMS | keys).save(path)
    file = Path(data_files(target)[0])
    file.write_bytes(in_place_of(Path(data_files(elsewhere)[0]).read_bytes(), file.read_bytes()))
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    with untouched(target), refused(MISMATCH, "replaced"):
        pme.rotate(spark.newSession(), target, kms=pme.KmsClass(KMS["kms"]), master_keys={"pii": "pii-2"})
