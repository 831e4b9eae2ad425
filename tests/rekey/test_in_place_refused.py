"""Refusals of encryption in place, before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.rekey.places import ENC, MANIFEST, hidden, in_place, spoil
from tests.support.canary import data_files
from tests.support.expect import refused, untouched
from tests.support.session import TEST_KMS
from tests.support.tables import Remembering

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


OTHER = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": ["name"]})


REFUSALS: dict[str, tuple[dict[str, Any], str, str]] = {
    "a column that is in no file": ({"column_keys": {"pii": "snn"}}, "PME_UNKNOWN_COLUMN", "'snn'"),
    "a partition column": ({"column_keys": {"pii": "c*"}}, "PME_UNSUPPORTED", "'country'"),
    "no key": ({"footer_key": None}, "PME_NO_KEY", "footerKey"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_work_is_refused_before_anything_is_written(spark: SparkSession, plain: Path, case: str) -> None:
    settings, condition, mention = REFUSALS[case]
    enc = pme.Encryption(kms=TEST_KMS, **({"footer_key": "footer"} | settings))
    with refused(condition, mention), untouched(plain):
        in_place(spark, plain, enc)


def begun(spark: SparkSession, plain: Path) -> Path:
    """Begin an encryption that cannot finish, because a file is damaged; return that file, repaired."""
    bad = data_files(plain)[0]
    before = spoil(bad)
    with refused("PME_DAMAGED_FILE", bad.name):
        in_place(spark, plain)
    bad.write_bytes(before)
    return bad


def test_other_settings_are_refused_until_the_run_is_finished(spark: SparkSession, plain: Path) -> None:
    begun(spark, plain)
    with refused("PME_UNSUPPORTED", "pii: name; pii: ssn", str(MANIFEST), "pme.rekey"), untouched(plain):
        in_place(spark, plain, OTHER)
    in_place(spark, plain)
    with refused("PME_UNSUPPORTED", "'ssn' has key 'pii' instead of the footer's key"), untouched(plain):
        in_place(spark, plain, OTHER)


def test_an_unreadable_manifest_is_refused(spark: SparkSession, plain: Path) -> None:
    (plain / MANIFEST).parent.mkdir()
    (plain / MANIFEST).write_text("{")
    with refused("PME_UNSUPPORTED", str(MANIFEST), "delete it"), untouched(plain):
        in_place(spark, plain)


@pytest.mark.parametrize(
    ("log", "remedy"), [("_delta_log", "pme.delta.encrypt_table"), ("_spark_metadata", "Encrypt to a copy")]
)
def test_files_whose_lengths_are_recorded_elsewhere_are_refused(
    spark: SparkSession, plain: Path, log: str, remedy: str
) -> None:
    (plain / log).mkdir()
    with refused("PME_UNSUPPORTED", log, remedy), untouched(plain):
        in_place(spark, plain)


@pytest.mark.parametrize(
    ("name", "option"),
    [("algorithm", "algorithm"), ("FOOTERKEY", "footerKey"), ("aadPrefix", "aadPrefix"), ("kms", "kms")],
)
def test_options_that_would_change_the_write_are_refused_as_read_options(
    spark: SparkSession, plain: Path, name: str, option: str
) -> None:
    with refused("PME_BAD_OPTION", f"option {option}: ", "would be written with it"), untouched(plain):
        pme.encrypt(spark, str(plain), enc=ENC, in_place=True, options={name: "AES_GCM_CTR_V1"})


def test_a_run_on_a_part_does_not_finish_a_run_on_the_whole_table(spark: SparkSession, plain: Path) -> None:
    part = begun(spark, plain).parent
    with refused("PME_UNSUPPORTED", f"{plain}'", f"{part}'"), untouched(plain):
        in_place(spark, part)
    in_place(spark, plain)
    assert hidden(plain) == []


@pytest.mark.parametrize("place", [".", "country=de"])
def test_a_plaintext_summary_file_is_refused(spark: SparkSession, plain: Path, place: str) -> None:
    (plain / place).mkdir(exist_ok=True)
    pq.write_metadata(pq.read_schema(data_files(plain)[0]), plain / place / "_metadata")
    with refused("PME_UNSUPPORTED", "_metadata", "Delete it"), untouched(plain):
        in_place(spark, plain)


def test_a_table_under_rotation_is_refused(spark: SparkSession, plain: Path) -> None:
    (plain / ".pme-rotating-0123").touch()
    with refused("PME_UNSUPPORTED", ".pme-rotating-0123"), untouched(plain):
        in_place(spark, plain)


@pytest.mark.parametrize("mark", [".pme-rotating-0123", ".pme-encrypting/manifest.json"])
@pytest.mark.parametrize("place", ["above", "below"])
def test_a_run_begun_above_or_below_is_detected(spark: SparkSession, plain: Path, place: str, mark: str) -> None:
    path = {"above": plain.parent, "below": plain / "country=de"}[place] / mark
    path.parent.mkdir(exist_ok=True)
    path.touch()
    with refused("PME_UNSUPPORTED", mark.partition("/")[0], "has not ended"), untouched(plain):
        in_place(spark, plain)


@pytest.mark.parametrize("place", [".", "..", "country=de"])
def test_a_table_under_encryption_in_place_is_not_rotated(spark: SparkSession, plain: Path, place: str) -> None:
    (plain / place / MANIFEST).parent.mkdir(parents=True)
    with refused("PME_UNSUPPORTED", ".pme-encrypting", "has not ended"), untouched(plain):
        pme.rotate(spark, str(plain), kms=pme.PythonKms(Remembering()), master_keys={"footer": "k"})


UNSEEN = ["_temporary/0/part-0.parquet", ".hive-staging_1/part-0", "_old.parquet", "part-0.parquet._COPYING_"]


@pytest.mark.parametrize("name", UNSEEN)
def test_plaintext_that_readers_ignore_is_refused(spark: SparkSession, plain: Path, name: str) -> None:
    left = plain / "country=de" / name
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_bytes(b"rows")
    with refused("PME_UNSUPPORTED", left.name, "readers ignore"), untouched(plain):
        in_place(spark, plain)


ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "no encryption": ({"in_place": True}, "enc is missing"),
    "no target": ({"enc": ENC}, "in_place=True"),
    "another target": ({"enc": ENC, "in_place": True, "target": "elsewhere"}, "elsewhere"),
    "a KMS of the source": ({"enc": ENC, "in_place": True, "kms": TEST_KMS}, "takes no kms"),
}


@pytest.mark.rows(1)
@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_that_contradict_each_other_are_refused(case: str) -> None:
    arguments, mention = ARGUMENTS[case]
    with refused("PME_BAD_OPTION", mention):
        pme.encrypt(object(), "source", **arguments)  # type: ignore[arg-type] # no session is asked


def test_the_target_may_be_named_where_it_is_the_source(spark: SparkSession, plain: Path) -> None:
    assert pme.encrypt(spark, str(plain), str(plain), ENC, in_place=True).files == len(data_files(plain))
