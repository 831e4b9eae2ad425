"""A plaintext table is encrypted in place: nothing is lost, and another run continues an interrupted one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.rekey.places import ENC, EXTERNAL, MANIFEST, hidden, in_place, read, spoil
from tests.rekey.same import MODES, assert_same
from tests.support import tables
from tests.support.canary import data_files, files_under, find_canaries
from tests.support.expect import refused, untouched
from tests.support.session import TEST_KMS
from tests.support.source import rows
from tests.support.storage import file_systems

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


CTR = {"algorithm": "AES_GCM_CTR_V1"}
MODE_BITS = 0o777


@pytest.mark.parametrize("mode", MODES)
def test_files_are_encrypted_in_place(spark: SparkSession, plain: Path, tmp_path: Path, mode: str) -> None:
    before = {file: file.read_bytes() for file in data_files(plain)}
    expected = rows(spark.read.parquet(str(plain)))
    done = in_place(spark, plain, MODES[mode])
    assert (done.files, done.already, done.rows, done.failed) == (len(before), 0, len(expected), ())
    assert data_files(plain) == list(before)
    assert rows(read(spark, plain, **CTR)) == expected
    protected = ["name-", "ssn-", "street-"] if mode != "CTR beside" else ["name-"]
    assert find_canaries(plain, protected) == []
    assert hidden(plain) == []
    # Decrypted, they are what they were before.
    back = tmp_path / "back"
    again = pme.decrypt(spark, str(plain), str(back), TEST_KMS, write_plaintext=True, options=CTR)
    assert (again.files, again.rows, again.pages) == (done.files, done.rows, done.pages)
    for file, content in before.items():
        was = tmp_path / "was.parquet"
        was.write_bytes(content)
        assert_same(was, back / file.relative_to(plain))


def test_encrypted_files_are_verified_and_not_changed(spark: SparkSession, plain: Path) -> None:
    first = in_place(spark, plain)
    with untouched(plain):
        second = in_place(spark, plain)
    assert (first.already, second.files, second.already) == (0, 0, first.files)
    file = data_files(plain)[0]
    # In the first page's header, after the magic bytes, a length and a nonce.
    spoil(file, at=4 + 4 + 12 + 2)
    with refused("PME_NOT_AUTHENTIC", file.name, f"1 of {first.files} files"):
        in_place(spark, plain)


def test_one_file_fails_and_the_others_are_encrypted(spark: SparkSession, plain: Path) -> None:
    expected = rows(spark.read.parquet(str(plain)))
    bad, *others = data_files(plain)
    before = spoil(bad)
    with pytest.raises(pme.DamagedFileError, match="Run this again with the same arguments") as caught:
        in_place(spark, plain)
    report = caught.value.report
    assert (report.files, report.already) == (len(others), 0)
    assert [Path(one.file).name for one in report.failed] == [bad.name]
    assert (plain / MANIFEST).exists()
    bad.write_bytes(before)
    # Some files stay plaintext until the run is finished.
    assert rows(read(spark, plain, plaintextFiles="allow")) == expected
    with refused("PME_PLAINTEXT_FILE", bad.name):
        rows(read(spark, plain))
    done = in_place(spark, plain)
    assert (done.files, done.already) == (1, len(others))
    assert rows(read(spark, plain)) == expected
    assert hidden(plain) == []


def test_leftovers_of_a_killed_run_are_removed(spark: SparkSession, plain: Path) -> None:
    left = plain / ".pme-encrypting" / "0815" / "4711" / "part.parquet"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half a file")
    in_place(spark, plain)
    assert hidden(plain) == []


def test_a_single_file_is_encrypted(spark: SparkSession, plain: Path) -> None:
    file, *others = data_files(plain)
    expected = rows(spark.read.parquet(str(plain)))
    assert in_place(spark, file).files == 1
    assert hidden(plain) == []
    assert rows(read(spark, plain, plaintextFiles="allow")) == expected
    assert in_place(spark, plain).files == len(others)


def test_a_file_of_pyarrow_is_encrypted(spark: SparkSession, plain: Path, tmp_path: Path) -> None:
    path = tmp_path / "arrow"
    path.mkdir()
    table = pq.read_table(data_files(plain)[0])
    for number, version in enumerate(["1.0", "2.0"]):
        pq.write_table(table, path / f"{number}.parquet", data_page_version=version, data_page_size=64)
    expected = rows(spark.read.parquet(str(path)))
    in_place(spark, path)
    assert rows(read(spark, path)) == expected


@pytest.mark.parametrize("stored", [True, False])
def test_a_prefix_names_the_table(spark: SparkSession, plain: Path, *, stored: bool) -> None:
    expected = rows(spark.read.parquet(str(plain)))
    enc = pme.Encryption(kms=TEST_KMS, uniform_key="k", aad_prefix="{path}/{file}", store_aad_prefix=stored)
    bad, *others = data_files(plain)
    before = spoil(bad)
    with refused("PME_DAMAGED_FILE", bad.name):
        in_place(spark, plain, enc)
    bad.write_bytes(before)
    assert in_place(spark, plain, enc).already == len(others)
    assert rows(read(spark, plain, aadPrefix="{path}/{file}")) == expected


def test_files_keep_their_permissions(spark: SparkSession, plain: Path) -> None:
    for file in data_files(plain):
        file.chmod(0o640)
    in_place(spark, plain, EXTERNAL)
    made = [*data_files(plain), *map(tables.material, data_files(plain))]
    assert {file.stat().st_mode & MODE_BITS for file in made} == {0o640}


def test_no_checksum_of_a_plaintext_file_is_left(spark: SparkSession, plain: Path) -> None:
    in_place(spark, plain)
    assert not {f".{file.name}.crc" for file in data_files(plain)} & tables.names(plain)


@pytest.fixture
def loaded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    file_systems.load(spark, tmp_path_factory)


def test_files_in_an_object_store_are_overwritten_directly(spark: SparkSession, plain: Path, loaded: None) -> None:
    expected = rows(spark.read.parquet(str(plain)))
    done = in_place(spark, f"s3a://{plain}", ENC, **file_systems.store("s3a"))
    assert done.files == len(data_files(plain))
    for file in files_under(plain):
        if file.name.endswith(".crc"):
            file.unlink()  # the store keeps none
    assert rows(read(spark, plain)) == expected
    assert hidden(plain) == []


def test_a_file_system_without_known_guarantees_is_refused(spark: SparkSession, plain: Path, loaded: None) -> None:
    before = {file: file.read_bytes() for file in data_files(plain)}
    with refused("PME_UNSUPPORTED", "odd", "hdfs"):
        in_place(spark, f"odd://{plain}", ENC, **file_systems.store("odd"))
    assert {file: file.read_bytes() for file in data_files(plain)} == before
    assert hidden(plain) == []


def test_external_key_material_is_refused_in_an_object_store(spark: SparkSession, plain: Path, loaded: None) -> None:
    with refused("PME_UNSUPPORTED", "keyMaterial=external", "copy"), untouched(plain):
        in_place(spark, f"s3a://{plain}", EXTERNAL, **file_systems.store("s3a"))


def test_a_file_that_does_not_open_does_not_stop_the_others(spark: SparkSession, plain: Path) -> None:
    bad, *others = data_files(plain)
    bad.write_bytes(b"no file of Parquet")
    bad.with_name(f".{bad.name}.crc").unlink()
    with pytest.raises(pme.PmeError, match=bad.name) as caught:
        in_place(spark, plain)
    assert caught.value.report.files == len(others)
    assert [Path(one.file).name for one in caught.value.report.failed] == [bad.name]


def test_a_symbolic_link_is_not_replaced(spark: SparkSession, plain: Path, tmp_path: Path) -> None:
    file, *others = data_files(plain)
    target = tmp_path / "elsewhere.parquet"
    file.rename(target)
    file.symlink_to(target)
    before = target.read_bytes()
    with pytest.raises(pme.PmeError, match="symbolic link") as caught:
        in_place(spark, plain)
    assert caught.value.report.files == len(others)
    assert file.is_symlink()
    assert target.read_bytes() == before
