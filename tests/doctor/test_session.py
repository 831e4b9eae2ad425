"""The doctor on a classic session, with the Spark that runs the tests. ``jvm/spark`` has SessionDoctorSuite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.version import __version__ as pyspark_version

import pme_parquet as pme
from tests.support.kms.clients import Client
from tests.support.session import PASSWORD, PASSWORD_VARIABLE, TEST_KMS
from tests.support.shown import all_of, assert_each_says_what_to_do, named, not_ok

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

PARQUET = {"3.5": "1.13.1", "4.0": "1.15.2", "4.1": "1.16.0", "4.2": "1.17.0", "4.3": "1.17.0"}


@pytest.mark.each_spark
def test_a_healthy_session_has_no_problem_in_python_and_sql(spark: SparkSession, keys: pme.Keystore) -> None:
    healthy = pme.doctor(spark, pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["ssn"]}))
    assert healthy.ok
    assert not_ok(healthy) == {}
    assert_each_says_what_to_do(healthy)
    assert named(healthy, "PySpark").found == f"{pyspark_version}, the same as Spark"
    assert named(healthy, "Spark").found == spark.version
    connector = named(healthy, "connector").found
    assert connector.startswith(f"pme-parquet-spark-{'3.5' if spark.version.startswith('3') else '4.0'}_2.1")
    assert connector.endswith(f" {pme.__version__}, from {pme.jar_path()}")
    parquet = PARQUET[".".join(spark.version.split(".")[:2])]
    for artifact in ("parquet-hadoop", "parquet-column", "parquet-format-structures"):
        assert named(healthy, artifact).found.startswith(f"{parquet}, from ")
    assert named(healthy, "wheel").found == f"pme-parquet {pme.__version__}, the same as the connector"
    assert named(healthy, "executors").found == "none: tasks run in the driver (local[2])"
    for key in ("footer", "pii"):
        assert named(healthy, f"key '{key}' from driver").found.startswith("wrapped in ")
    for form, shown in all_of(healthy).items():
        assert PASSWORD not in shown, form

    options = keys.options() | {"footerKey": "footer", "columnKeys": "pii: ssn"}
    given = ", ".join(f"'{text}'" for option in options.items() for text in option)
    rows = spark.sql(f"SELECT * FROM pme_doctor(options => map({given}))").collect()
    names = [check.name for check in healthy.checks if check.name not in {"Python", "PySpark", "session", "wheel"}]
    assert [row["name"] for row in rows] == names
    assert {row["status"] for row in rows if not row["name"].startswith("AES")} == {"ok"}


@pytest.mark.newest
def test_the_kms_is_called_as_reads_and_writes_call_it(spark: SparkSession, keys: pme.Keystore) -> None:
    for twice, wraps in (("true", 1), ("false", 2)):
        client = Client()
        assert pme.doctor(spark, pme.PythonKms(client), options={"uniformKey": "k", "doubleWrapping": twice}).ok
        assert (client.count("wrap"), client.count("unwrap")) == ({"k": wraps}, {"k": 2})
    direct = pme.Encryption(kms=keys, uniform_key="footer", key_management="direct")
    diagnosis = pme.doctor(spark, direct, options={"kms.callFrom": "executor"})
    assert named(diagnosis, "key 'footer' from executor").found.startswith("by itself, fetched in ")


@pytest.mark.oldest
def test_what_python_gives_is_looked_at_and_no_secret_of_it_is_shown(
    spark: SparkSession, conf: Conf, tmp_path: Path
) -> None:
    columns = {"denied key": "a", "missing key": "b", "down": "c"}
    tried = pme.Encryption(kms=pme.KmsClass(TEST_KMS), footer_key="k", column_keys=columns)
    with conf({"spark.datasource.pme-parquet.footerKy": "footer"}):
        diagnosis = pme.doctor(spark)
    assert not diagnosis.ok
    assert "Did you mean 'footerKey'" in named(diagnosis, "options").found
    diagnosis = pme.doctor(spark)
    assert named(diagnosis, "KMS").remedy == "Name one: pme.doctor(spark, kms=…)."
    diagnosis = pme.doctor(spark, tried)
    assert not diagnosis.ok
    assert_each_says_what_to_do(diagnosis)
    for key, condition in (("denied key", "DENIED"), ("missing key", "NOT_FOUND")):
        assert f"PME_KEY_{condition}" in named(diagnosis, f"key '{key}' from driver").found
    nowhere = pme.Keystore(str(tmp_path / "none.p12"), password=pme.env(PASSWORD_VARIABLE))
    diagnosis = pme.doctor(spark, nowhere, options={"uniformKey": "k"})
    assert "there is no such file" in named(diagnosis, "KMS").found
    assert PASSWORD not in str(all_of(diagnosis))


@pytest.mark.newest
def test_a_stopped_session_is_a_problem_and_not_an_exception(spark: SparkSession) -> None:
    class Stopped:
        _jsparkSession = spark._jsparkSession  # noqa: N815 PySpark's name

        @property
        def _jvm(self) -> object:
            message = "[Errno 111] Connection refused"
            raise ConnectionRefusedError(message)

        @property
        def version(self) -> str:
            message = "[Errno 111] Connection refused"
            raise ConnectionRefusedError(message)

    diagnosis = pme.doctor(Stopped())  # type: ignore[arg-type]
    assert not diagnosis.ok
    assert_each_says_what_to_do(diagnosis)
