"""The connector's failures are `PmeError`s in Python and still what PySpark raises; other failures are unchanged."""

from __future__ import annotations

import importlib
import pickle
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException, StreamingQueryException
from pyspark.errors.exceptions import captured

import pme_parquet as pme
import pme_parquet.delta
from tests.support.expect import refused
from tests.support.session import SPARK_VERSION, created

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


@pytest.fixture
def unreadable(spark: SparkSession, enc: pme.Encryption, tmp_path: Path) -> str:
    """A table that another keystore, with keys of the same names, cannot open."""
    path = str(tmp_path / "table")
    spark.range(3).write.format("pme-parquet").options(**enc.options()).save(path)
    return path


@pytest.fixture
def others(keys: pme.Keystore, tmp_path: Path) -> dict[str, str]:
    return created(pme.Keystore(str(tmp_path / "others.p12"), password=keys.password), ["footer"]).options()


def test_a_failure_on_the_driver_has_its_class_its_condition_and_one_clean_message(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(pme.NoKeyError) as caught:
        spark.range(1).write.format("pme-parquet").save(str(tmp_path / "t"))
    assert caught.value.condition == "PME_NO_KEY"
    assert str(caught.value).startswith("[PME_NO_KEY] ")
    assert "\n" not in str(caught.value)


def test_handlers_of_pysparks_exceptions_still_catch_it(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException) as caught:
        spark.range(1).write.format("pme-parquet").save(str(tmp_path / "t"))
    assert caught.value.getErrorClass() == "PME_NO_KEY"


def test_sparks_own_message_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(pme.PmeError) as caught:
        spark.range(1).write.format("pme-parquet").save(str(tmp_path / "t"))
    assert caught.value.java_exception.getClass().getName().startswith("io.pmeparquet.")
    assert isinstance(caught.value.spark_error, captured.CapturedException)


def test_a_failure_on_an_executor_is_found_among_the_causes(
    spark: SparkSession, unreadable: str, others: dict[str, str]
) -> None:
    frame = spark.read.schema("id LONG").format("pme-parquet").options(**others).load(unreadable)
    with pytest.raises(pme.NotAuthenticError, match=r"^\[PME_NOT_AUTHENTIC\] .*\.parquet"):
        frame.collect()


def test_a_failed_stream_raises_both_classes(
    spark: SparkSession, unreadable: str, others: dict[str, str], tmp_path: Path
) -> None:
    stream = spark.readStream.schema("id LONG").format("pme-parquet").options(**others).load(unreadable)
    started = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
    with pytest.raises(pme.NotAuthenticError) as caught:
        started.awaitTermination(60)
    assert isinstance(caught.value, StreamingQueryException)


def test_an_error_travels_between_processes_as_its_plain_class(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(pme.PmeError) as caught:
        spark.range(1).write.format("pme-parquet").save(str(tmp_path / "t"))
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 its own bytes
    assert (type(again), str(again)) == (pme.NoKeyError, str(caught.value))


def test_failures_of_spark_itself_are_unchanged(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException) as caught:
        spark.sql("SELECT nothing_of_that_name")
    assert type(caught.value) is captured.AnalysisException


def test_a_users_exception_that_quotes_a_condition_is_not_ours(spark: SparkSession) -> None:
    with pytest.raises((Py4JJavaError, PySparkException)) as caught:
        spark.sql("SELECT raise_error('[PME_NOT_AUTHENTIC] made up')").collect()
    assert not isinstance(caught.value, pme.PmeError)


def test_installing_again_changes_nothing() -> None:
    before = importlib.import_module(captured.__name__).convert_exception
    pme.install_errors()
    assert captured.convert_exception is before


def test_sparks_own_source_on_an_encrypted_table_is_an_error_that_says_what_to_type(
    spark: SparkSession, unreadable: str
) -> None:
    for read in (
        lambda: spark.read.parquet(unreadable),
        lambda: spark.read.schema("id LONG").parquet(unreadable).collect(),
        lambda: spark.sql(f"SELECT * FROM parquet.`{unreadable}`"),
    ):
        with pytest.raises(pme.NoKeyError, match=r'is encrypted, .* pme\.read\(spark, "PATH"') as caught:
            read()
        assert "\n" not in str(caught.value)
        # Spark 3.5 does not always name the file.
        assert "/table/part-" in str(caught.value) or SPARK_VERSION < (4, 0)


def test_a_read_that_names_no_kms_is_an_error_that_says_what_to_type(spark: SparkSession, unreadable: str) -> None:
    with pytest.raises(pme.BadOptionError, match=r'no other KMS is named.* kms=pme\.Keystore\("keys\.p12"'):
        spark.read.format("pme-parquet").load(unreadable)


BLOOMS = [pme.Bloom("id", fpp=0.1), pme.Bloom("id", fpp=0.2)]
# What differs from SQL or the command, by condition.
IN_PYTHON: dict[str, tuple[str, Callable[[SparkSession, str, pme.Encryption], object], str]] = {
    "a key of no file": (
        "PME_BAD_OPTION",
        lambda spark, path, enc: pme.rotate(spark, path, kms=enc.kms, master_keys={"nobody": "other"}, progress=False),
        "allow_unused",
    ),
    "an index twice": (
        "PME_BAD_OPTION",
        lambda spark, path, enc: pme.seal(spark, path, kms=enc.kms, index=BLOOMS, expect="unsealed"),
        "pme.MinMax, pme.ValueList",
    ),
    "a table of Delta": (
        "PME_UNSUPPORTED",
        lambda spark, path, enc: pme.rotate(spark, f"{path}-delta", kms=enc.kms, progress=False),
        "pme.delta.rotate",
    ),
    "keys for columns": (
        "PME_UNKNOWN_COLUMN",
        lambda spark, path, enc: pme.write(spark.range(1), f"{path}-2", replace(enc, column_keys={"id": ["pii"]})),
        "column_keys={'pii': ['id']}",
    ),
    "no Delta": (
        "PME_UNSUPPORTED",
        lambda spark, path, _: pme_parquet.delta.encrypt_table(
            spark, f"{path}-delta", pme.Encryption(footer_key="footer")
        ),
        "Add delta-spark",
    ),
    "no snapshot": (
        "PME_SNAPSHOT_MISMATCH",
        lambda spark, path, enc: pme.read(spark, path, enc.kms, options={"snapshot": "require"}).collect(),
        "pme.seal",
    ),
}


@pytest.mark.all_rows
@pytest.mark.parametrize("refusal", IN_PYTHON)
def test_a_refusal_says_where_it_is_and_what_to_do_in_python(
    spark: SparkSession, unreadable: str, enc: pme.Encryption, refusal: str
) -> None:
    condition, action, words = IN_PYTHON[refusal]
    shutil.copytree(unreadable, f"{unreadable}-delta")
    Path(f"{unreadable}-delta", "_delta_log").mkdir()
    with refused(condition, words):
        action(spark, unreadable, enc)


def test_a_directory_in_place_of_a_keystore_is_named_as_such(
    spark: SparkSession, unreadable: str, keys: pme.Keystore, tmp_path: Path
) -> None:
    with pytest.raises(pme.KmsUnavailableError, match="it is a directory"):
        pme.read(spark, unreadable, pme.Keystore(tmp_path, password=keys.password))


def test_a_column_whose_name_has_a_dot_is_shown_as_it_must_be_typed(
    spark: SparkSession, keys: pme.Keystore, tmp_path: Path
) -> None:
    enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["a.b"]})
    with pytest.raises(pme.UnknownColumnError, match=r"For the column whose name has a dot, write `a\.b`"):
        pme.write(spark.range(1).selectExpr("id", "id AS `a.b`"), tmp_path / "t", enc)


def test_a_space_around_the_name_of_a_key_is_pointed_out(
    spark: SparkSession, keys: pme.Keystore, tmp_path: Path
) -> None:
    with pytest.raises(pme.KeyNotFoundError, match="the id begins or ends with a space"):
        pme.write(spark.range(1), tmp_path / "t", pme.Encryption(kms=keys, footer_key="footer "))
