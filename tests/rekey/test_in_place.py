"""A plaintext table is encrypted where it is: nothing of it is lost, and a run that was cut short is gone on with."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.policy.expect import refused, untouched
from tests.rekey.test_encrypt import INDEXED, MODES, assert_same
from tests.rotation import file_systems, tables
from tests.rotation.tables import Remembering
from tests.support.canary import data_files, files_under, find_canaries
from tests.support.frames import people
from tests.support.session import TEST_KMS
from tests.support.source import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

ENC = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": ["name", "ssn"]})
EXTERNAL = pme.Encryption(kms=TEST_KMS, uniform_key="footer", key_material="external")
OTHER = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": ["name"]})
CTR = {"algorithm": "AES_GCM_CTR_V1"}
MANIFEST = Path(".pme-encrypting", "manifest.json")
MODE_BITS = 0o777


@pytest.fixture
def plain(spark: SparkSession, tmp_path: Path) -> Path:
    """Return a plaintext table of five files with partitions, page indexes and Bloom filters."""
    path = tmp_path / "plain"
    people(spark).write.options(**INDEXED).partitionBy("country").parquet(str(path))
    return path


def read(spark: SparkSession, path: Path | str, **options: str) -> DataFrame:
    return spark.read.format("pme-parquet").options(kms=TEST_KMS, **options).load(str(path))


def in_place(spark: SparkSession, path: Path | str, enc: pme.Encryption = ENC, **options: str) -> pme.Copied:
    return pme.encrypt(spark, str(path), enc=enc, in_place=True, options=options)


def spoil(file: Path) -> bytes:
    """Bend a byte of a page, whose checksum then fails; return what the file was."""
    before = file.read_bytes()
    file.write_bytes(before[:60] + bytes([before[60] ^ 1]) + before[61:])
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    return before


def hidden(path: Path) -> list[str]:
    """Return the names of what a run left."""
    return [file.name for file in files_under(path) if "pme-" in str(file.relative_to(path))]


@pytest.mark.parametrize("mode", MODES)
def test_files_are_encrypted_where_they_are(spark: SparkSession, plain: Path, tmp_path: Path, mode: str) -> None:
    before = {file: file.read_bytes() for file in data_files(plain)}
    expected = rows(spark.read.parquet(str(plain)))
    done = in_place(spark, plain, MODES[mode])
    assert (done.files, done.already, done.rows, done.failed) == (len(before), 0, len(expected), ())
    assert data_files(plain) == list(before)
    assert rows(read(spark, plain, **CTR)) == expected
    protected = ["name-", "ssn-", "street-"] if mode != "CTR beside" else ["name-"]
    assert find_canaries(plain, protected) == []
    assert hidden(plain) == []
    # What they are when they are decrypted, they were before.
    back = tmp_path / "back"
    again = pme.decrypt(spark, str(plain), str(back), TEST_KMS, write_plaintext=True, options=CTR)
    assert (again.files, again.rows, again.pages) == (done.files, done.rows, done.pages)
    for file, content in before.items():
        was = tmp_path / "was.parquet"
        was.write_bytes(content)
        assert_same(was, back / file.relative_to(plain))


def test_what_is_encrypted_is_verified_and_left(spark: SparkSession, plain: Path) -> None:
    first = in_place(spark, plain)
    with untouched(plain):
        second = in_place(spark, plain)
    assert (first.already, second.files, second.already) == (0, 0, first.files)
    file = data_files(plain)[0]
    spoil(file)
    with refused("PME_NOT_AUTHENTIC", file.name, f"1 of {first.files} files"):
        in_place(spark, plain)


def test_one_file_fails_and_the_others_go_on(spark: SparkSession, plain: Path) -> None:
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
    # Until all is done, some files are plaintext.
    assert rows(read(spark, plain, plaintextFiles="allow")) == expected
    with refused("PME_PLAINTEXT_FILE", bad.name):
        rows(read(spark, plain))
    done = in_place(spark, plain)
    assert (done.files, done.already) == (1, len(others))
    assert rows(read(spark, plain)) == expected
    assert hidden(plain) == []


def test_other_settings_are_refused_until_it_is_done(spark: SparkSession, plain: Path) -> None:
    bad = data_files(plain)[0]
    before = spoil(bad)
    with refused("PME_DAMAGED_FILE", bad.name):
        in_place(spark, plain)
    bad.write_bytes(before)
    with refused("PME_UNSUPPORTED", "pii: name; pii: ssn", str(MANIFEST), "pme.rekey"), untouched(plain):
        in_place(spark, plain, OTHER)
    in_place(spark, plain)
    with refused("PME_UNSUPPORTED", "'ssn' has key 'pii' where the footer's key is asked for"), untouched(plain):
        in_place(spark, plain, OTHER)


def test_a_manifest_that_says_nothing_is_no_licence(spark: SparkSession, plain: Path) -> None:
    (plain / MANIFEST).parent.mkdir()
    (plain / MANIFEST).write_text("{")
    with refused("PME_UNSUPPORTED", str(MANIFEST), "delete it"), untouched(plain):
        in_place(spark, plain)


def test_leftovers_of_a_killed_run_go(spark: SparkSession, plain: Path) -> None:
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


REFUSALS: dict[str, tuple[dict[str, Any], str, str]] = {
    "a column that is in no file": ({"column_keys": {"pii": "snn"}}, "PME_UNKNOWN_COLUMN", "'snn'"),
    "a partition column": ({"column_keys": {"pii": "c*"}}, "PME_UNSUPPORTED", "'country'"),
    "no key": ({"footer_key": None}, "PME_NO_KEY", "footerKey"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_be_is_refused_before_anything_is_written(spark: SparkSession, plain: Path, case: str) -> None:
    settings, condition, mention = REFUSALS[case]
    enc = pme.Encryption(kms=TEST_KMS, **({"footer_key": "footer"} | settings))
    with refused(condition, mention), untouched(plain):
        in_place(spark, plain, enc)


@pytest.mark.parametrize("log", ["_delta_log", "_spark_metadata"])
def test_files_whose_lengths_are_kept_elsewhere_are_refused(spark: SparkSession, plain: Path, log: str) -> None:
    (plain / log).mkdir()
    with refused("PME_UNSUPPORTED", log, "copy"), untouched(plain):
        in_place(spark, plain)


def test_a_summary_file_is_not_forgotten(spark: SparkSession, plain: Path) -> None:
    pq.write_metadata(pq.read_schema(data_files(plain)[0]), plain / "_metadata")
    with refused("PME_UNSUPPORTED", "_metadata", "Delete it"), untouched(plain):
        in_place(spark, plain)


def test_a_table_that_is_rotated_is_refused(spark: SparkSession, plain: Path) -> None:
    (plain / ".pme-rotating-0123").touch()
    with refused("PME_UNSUPPORTED", ".pme-rotating-0123"), untouched(plain):
        in_place(spark, plain)


def test_a_file_that_is_written_after_it_was_listed_is_left(spark: SparkSession, plain: Path) -> None:
    victim = data_files(plain)[0]

    class Meddling(Remembering):
        def wrap_key(self, key: bytes, master_key_id: str) -> str:
            os.utime(victim, (0, 0))
            return super().wrap_key(key, master_key_id)

    before = victim.read_bytes()
    enc = pme.Encryption(kms=pme.PythonKms(Meddling()), uniform_key="footer")
    with refused("PME_UNSUPPORTED", "since it was looked at", victim.name):
        in_place(spark, plain, enc)
    assert victim.read_bytes() == before
    assert in_place(spark, plain, enc).files == 1


def test_a_frame_that_was_made_before_reads_on(spark: SparkSession, plain: Path) -> None:
    frame = read(spark, plain, plaintextFiles="allow")
    expected = rows(spark.read.parquet(str(plain)))
    in_place(spark, plain)
    assert rows(frame) == expected


@pytest.mark.parametrize("reader", ["pages", "spark"])
def test_splits_that_were_cut_before_are_read_whole_or_refused(
    spark: SparkSession, tmp_path: Path, conf: Conf, reader: str
) -> None:
    path = tmp_path / "plain"
    many = {"parquet.block.size": "2000", "parquet.page.size": "100", "parquet.page.row.count.limit": "10"}
    people(spark, count=2000).coalesce(1).write.options(**many).parquet(str(path))
    [file] = data_files(path)
    assert pq.ParquetFile(file).num_row_groups > 2
    expected = rows(spark.read.parquet(str(path)))
    whole = read(spark, path, plaintextFiles="allow", reader=reader)
    split = read(spark, path, plaintextFiles="allow", reader=reader)
    ours = spark.read.format("pme-parquet").options(kms=TEST_KMS, reader=reader)
    strict = ours.schema(whole.schema).load(str(path))
    in_place(spark, path)
    parts = {"spark.sql.files.maxPartitionBytes": str(file.stat().st_size // 5), "spark.sql.files.openCostInBytes": "1"}
    with conf(parts), refused("PME_UNSUPPORTED", "after this query was planned", "REFRESH TABLE"):
        rows(split)
    if reader == "pages":
        with conf(parts):
            assert rows(strict) == expected
        assert rows(whole) == expected
    else:
        with refused("PME_UNSUPPORTED", "after this query was planned"):
            rows(whole)


def test_readers_meanwhile_see_the_rows_or_fail_cleanly(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "plain"
    people(spark, count=200).repartition(8).write.parquet(str(path))
    expected = rows(spark.read.parquet(str(path)))
    stop, seen, wrong = threading.Event(), [0], []

    def look() -> None:
        while not stop.is_set():
            try:
                found = rows(read(spark, path, plaintextFiles="allow"))
            except pme.PmeError:
                continue
            seen[0] += 1
            if found != expected:
                wrong.append(found)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        in_place(spark, path, EXTERNAL)
    finally:
        stop.set()
        reader.join()
    assert wrong == []
    assert seen[0] > 0


def test_two_runs_at_once_lose_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "plain"
    people(spark, count=200).repartition(12).write.parquet(str(path))
    expected = rows(spark.read.parquet(str(path)))
    failures: list[Exception] = []

    def run() -> None:
        try:
            in_place(spark, path, EXTERNAL)
        except Exception as error:  # noqa: BLE001 one ends the other
            failures.append(error)

    runs = [threading.Thread(target=run) for _ in range(2)]
    for one in runs:
        one.start()
    for one in runs:
        one.join()
    assert rows(read(spark, path, plaintextFiles="allow")) == expected
    in_place(spark, path, EXTERNAL)
    assert rows(read(spark, path)) == expected
    assert hidden(path) == []


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


def test_in_a_store_of_objects_files_are_written_in_their_place(spark: SparkSession, plain: Path, loaded: None) -> None:
    expected = rows(spark.read.parquet(str(plain)))
    options = file_systems.store("s3a")
    assert in_place(spark, f"s3a://{plain}", EXTERNAL, **options).files == len(data_files(plain))
    for file in files_under(plain):
        if file.name.endswith(".crc"):
            file.unlink()  # the store keeps none
    assert rows(read(spark, plain)) == expected
    assert hidden(plain) == []


def test_a_file_system_that_promises_nothing_is_refused(spark: SparkSession, plain: Path, loaded: None) -> None:
    before = {file: file.read_bytes() for file in data_files(plain)}
    with refused("PME_UNSUPPORTED", "odd", "hdfs"):
        in_place(spark, f"odd://{plain}", ENC, **file_systems.store("odd"))
    assert {file: file.read_bytes() for file in data_files(plain)} == before


ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "no encryption": ({"in_place": True}, "enc is missing"),
    "no target": ({"enc": ENC}, "in_place=True"),
    "another target": ({"enc": ENC, "in_place": True, "target": "elsewhere"}, "elsewhere"),
    "a KMS of the source": ({"enc": ENC, "in_place": True, "kms": TEST_KMS}, "takes no kms"),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_that_contradict_each_other_are_refused(case: str) -> None:
    arguments, mention = ARGUMENTS[case]
    with refused("PME_BAD_OPTION", mention):
        pme.encrypt(object(), "source", **arguments)  # type: ignore[arg-type] # no session is asked


def test_the_target_may_be_named_where_it_is_the_source(spark: SparkSession, plain: Path) -> None:
    assert pme.encrypt(spark, str(plain), str(plain), ENC, in_place=True).files == len(data_files(plain))
