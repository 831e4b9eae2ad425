"""A plaintext table is encrypted and decrypted again, and nothing is lost or changed.

`TableCopiesSuite` and `TableInPlaceSuite` have the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.rekey.copies import left
from tests.rekey.places import hidden, in_place, read
from tests.rekey.same import ENC, MODES, assert_same
from tests.support import file_systems
from tests.support.canary import data_files, files_under, find_canaries
from tests.support.expect import refused, untouched
from tests.support.frames import people
from tests.support.session import TEST_KMS
from tests.support.source import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

CTR = {"algorithm": "AES_GCM_CTR_V1"}
EXTERNAL = pme.Encryption(kms=TEST_KMS, uniform_key="footer", key_material="external")


def names(path: Path) -> list[str]:
    return [str(file.relative_to(path)) for file in data_files(path)]


@pytest.mark.parametrize("mode", MODES)
def test_encrypting_and_decrypting_restores_the_table(
    spark: SparkSession, plain: Path, tmp_path: Path, mode: str
) -> None:
    encrypted, back = tmp_path / "encrypted", tmp_path / "back"
    done = pme.encrypt(spark, str(plain), str(encrypted), MODES[mode])
    assert rows(read(spark, encrypted, **CTR)) == rows(spark.read.parquet(str(plain)))
    with refused("PME_BAD_OPTION", "write_plaintext=True"):
        pme.decrypt(spark, str(encrypted), str(back), TEST_KMS, options=CTR)
    assert left(tmp_path) == ["encrypted", "plain"]
    again = pme.decrypt(spark, str(encrypted), str(back), TEST_KMS, write_plaintext=True, options=CTR)
    assert (again.files, again.rows, again.pages) == (done.files, done.rows, done.pages)
    assert names(plain) == names(encrypted) == names(back)
    for before, after in zip(data_files(plain), data_files(back), strict=True):
        assert_same(before, after)


@pytest.mark.parametrize("mode", MODES)
def test_files_are_encrypted_in_place(spark: SparkSession, plain: Path, tmp_path: Path, mode: str) -> None:
    before = {file: file.read_bytes() for file in data_files(plain)}
    expected = rows(spark.read.parquet(str(plain)))
    bad = next(iter(before))
    bad.write_bytes(b"no file of Parquet")
    bad.with_name(f".{bad.name}.crc").unlink()
    failed = f"1 of {len(before)} files failed .* Run this again with the same arguments"
    with pytest.raises(pme.PmeError, match=failed) as caught:
        in_place(spark, plain, MODES[mode])
    report = caught.value.report
    assert (report.files, report.already) == (len(before) - 1, 0)
    assert [one.file.rpartition("/")[2] for one in report.failed] == [bad.name]
    bad.write_bytes(before[bad])
    # The target may be named where it is the source.
    done = pme.encrypt(spark, str(plain), str(plain), MODES[mode], in_place=True)
    assert (done.files, done.already, done.failed) == (1, len(before) - 1, ())
    assert data_files(plain) == list(before)
    assert rows(read(spark, plain, **CTR)) == expected
    protected = ["name-", "ssn-", "street-"] if mode != "CTR beside" else ["name-"]
    assert find_canaries(plain, protected) == []
    assert hidden(plain) == []
    # Decrypted, they are what they were before.
    back = tmp_path / "back"
    pme.decrypt(spark, str(plain), str(back), TEST_KMS, write_plaintext=True, options=CTR)
    for file, content in before.items():
        was = tmp_path / "was.parquet"
        was.write_bytes(content)
        assert_same(was, back / file.relative_to(plain))


def test_files_in_an_object_store_are_overwritten_directly(
    spark: SparkSession, plain: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file_systems.load(spark, tmp_path_factory)
    expected = rows(spark.read.parquet(str(plain)))
    with refused("PME_UNSUPPORTED", "keyMaterial=external", "copy"), untouched(plain):
        in_place(spark, f"s3a://{plain}", EXTERNAL, **file_systems.store("s3a"))
    with refused("PME_UNSUPPORTED", "odd", "hdfs"), untouched(plain):
        in_place(spark, f"odd://{plain}", ENC, **file_systems.store("odd"))
    assert hidden(plain) == []
    done = in_place(spark, f"s3a://{plain}", ENC, **file_systems.store("s3a"))
    assert done.files == len(data_files(plain))
    for file in files_under(plain):
        if file.name.endswith(".crc"):
            file.unlink()  # the store keeps none
    assert rows(read(spark, plain)) == expected
    assert hidden(plain) == []


def test_nothing_of_a_protected_column_is_readable(spark: SparkSession, tmp_path: Path, target: str) -> None:
    source = tmp_path / "plain"
    people(spark).write.option("parquet.bloom.filter.enabled#name", "true").parquet(str(source))
    enc = pme.Encryption(
        kms=TEST_KMS,
        footer_key="footer",
        column_keys={"pii": ["name", "ssn", "address", "tags", "scores"]},
        unlisted_columns="plaintext",
        plaintext_footer=True,
    )
    pme.rekey(spark, str(source), target, enc, options={"plaintextFiles": "allow"})
    protected = ["name-", "ssn-", "street-", "tag-"]
    assert {find.canary for find in find_canaries(source, protected)} == set(protected)
    assert find_canaries(target, protected) == []
    assert rows(read(spark, target)) == rows(people(spark))


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


@pytest.mark.parametrize("what", ["encrypt", "decrypt", "rekey"])
def test_over_spark_connect_copies_say_why_they_cannot_run(what: str) -> None:
    arguments = (TEST_KMS,) if what == "decrypt" else (ENC,)
    with refused("PME_UNSUPPORTED", f"pme.{what}", "Spark Connect", "classic session"):
        getattr(pme, what)(object(), "source", "target", *arguments)
