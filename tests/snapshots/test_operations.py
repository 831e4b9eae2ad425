"""Operations on a sealed table: `pme.verify` finds what differs, and what would change files is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.snapshots.sealed import index_file
from tests.snapshots.tables import DAMAGED, KMS, MISMATCH, NOT_AUTHENTIC, ids, plant, seal, write
from tests.support.canary import assert_no_canaries, data_files
from tests.support.expect import refused
from tests.support.files import forge
from tests.support.files.anatomy import Anatomy, Kind
from tests.support.frames import people
from tests.support.tables import Remembering
from tests.support.tables import write as write_under

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def table(spark: SparkSession, target: str) -> str:
    """Return a sealed table of 20 people in two files."""
    write(people(spark).repartition(2), target)
    seal(spark, target)
    return target


def findings(spark: SparkSession, path: str, **options: str) -> list[tuple[str, str]]:
    """Return file name and condition of each finding."""
    rows = pme.verify(spark, path, options=KMS | options).collect()
    return sorted((Path(row.file).name, row.condition) for row in rows)


def test_a_sealed_table_has_no_findings(spark: SparkSession, table: str) -> None:
    assert findings(spark, table) == []


def test_verify_finds_missing_added_and_changed_files(spark: SparkSession, table: str) -> None:
    [first, second] = data_files(table)
    plant(people(spark, 20, 3).coalesce(1), table)
    [added] = [file for file in data_files(table) if file not in (first, second)]
    first.unlink()
    content = second.read_bytes()
    page = Anatomy(content).named("id").of(Kind.DATA_PAGE)[0]
    second.write_bytes(forge.flip(content, page.offset + page.size // 2))
    (second.parent / f".{second.name}.crc").unlink()
    found = findings(spark, table)
    for name in (first.name, second.name, added.name):
        assert (name, MISMATCH) in found
    assert (second.name, "PME_NOT_AUTHENTIC") in found
    assert [name for name, condition in findings(spark, table, snapshot="off")] == [second.name]


def test_verify_reports_a_snapshot_that_is_not_authentic(spark: SparkSession, table: str) -> None:
    manifest = Path(table) / "_pme_snapshots" / "snapshot-0000000001.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"rows":20', b'"rows":21'))
    assert (Path(table).name, "PME_SNAPSHOT_NOT_AUTHENTIC") in findings(spark, table)


def test_verify_finds_files_of_indexes_and_lists_that_are_not_as_they_were_sealed(
    spark: SparkSession, target: str
) -> None:
    write(people(spark).repartition(2), target)
    seal(spark, target, index=[pme.MinMax("id", "ssn", "name", "salary")])
    altered, cut, gone, swapped = (index_file(target, column) for column in ("id", "ssn", "name", "salary"))
    swapped.write_bytes(cut.read_bytes())
    altered.write_bytes(forge.flip(altered.read_bytes(), altered.stat().st_size // 2))
    cut.write_bytes(cut.read_bytes()[:-1])
    gone.unlink()
    for file in (altered, cut, swapped):
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    expected = {altered.name: NOT_AUTHENTIC, cut.name: DAMAGED, gone.name: DAMAGED, swapped.name: DAMAGED}
    assert ids(spark, target) == list(range(20)), "this session has read the list now"
    assert dict(findings(spark, target)) == expected
    # A file of the list ends reads, except where a session remembers what it says.
    [part] = Path(target, "_pme_snapshots").glob("part-*.parquet")
    part.unlink()
    assert dict(findings(spark, target)) == expected | {part.name: DAMAGED}
    copy = pme.Encryption(kms=pme.KmsClass(KMS["kms"]), footer_key="other")
    pme.rekey(spark, target, f"{target}-copy", copy, kms=pme.KmsClass(KMS["kms"]))


def test_a_rotation_seals_the_table_again(spark: SparkSession, target: str) -> None:
    kms = pme.PythonKms(Remembering())
    write_under(people(spark), target, kms)
    pme.seal(spark, target, kms=kms, expect="unsealed")
    pme.rotate(spark, target, kms=kms, master_keys={"pii": "pii-2"})
    assert [one.version for one in pme.snapshots(target)] == [1, 2]
    assert spark.read.format("pme-parquet").options(**kms.options()).load(target).count() == 20
    assert pme.verify(spark, target, kms=kms).collect() == []
    with refused("PME_UNSUPPORTED", "differ in their keys"):
        write_under(people(spark, 20), f"{target}-other", kms)
        other = data_files(f"{target}-other")[0]
        (Path(target) / other.name).write_bytes(other.read_bytes())
        pme.seal(spark, target, kms=kms, expect=2)
    (Path(target) / other.name).unlink()
    assert pme.seal(spark, target, kms=kms).opened == 0
    assert spark.read.format("pme-parquet").options(**kms.options()).load(target).count() == 20


def test_a_copy_of_a_sealed_table_compares_it_with_its_snapshot_first(spark: SparkSession, table: str) -> None:
    encryption = pme.Encryption(kms=pme.KmsClass(KMS["kms"]), footer_key="other")
    pme.rekey(spark, table, f"{table}-copy", encryption, kms=pme.KmsClass(KMS["kms"]))
    assert ids(spark, f"{table}-copy") == list(range(20))
    data_files(table)[0].unlink()
    with refused(MISMATCH, "it is missing"):
        pme.rekey(spark, table, f"{table}-second", encryption, kms=pme.KmsClass(KMS["kms"]))
    assert not Path(f"{table}-second").exists()


def test_an_index_leaves_no_value_of_a_protected_column_readable(spark: SparkSession, target: str) -> None:
    write(people(spark).coalesce(1), target)
    seal(spark, target, index=[pme.MinMax("name", "ssn", "address.street")])
    assert_no_canaries(target, ["name-", "ssn-", "street-"])
