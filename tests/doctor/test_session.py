"""The doctor on a classic session, with the Spark that runs the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.version import __version__ as pyspark_version

import pme_parquet as pme
from tests.support.judging import assert_each_says_what_to_do, forms, named, not_ok
from tests.support.kms.counting_client import Client
from tests.support.session import PASSWORD, TEST_KMS, VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

pytestmark = pytest.mark.rows(2)

PARQUET = {"3.5": "1.13.1", "4.0": "1.15.2", "4.1": "1.16.0", "4.2": "1.17.0", "4.3": "1.17.0"}


@pytest.fixture(scope="module")
def healthy(spark: SparkSession, keys: pme.Keystore) -> pme.Diagnosis:
    """Return the diagnosis of the tests' session, with keys."""
    return pme.doctor(spark, pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["ssn"]}))


def check_named(diagnosis: pme.Diagnosis, name: str) -> dict[str, str]:
    return named(diagnosis.to_dict()["checks"], name)


def test_a_healthy_session_has_no_problem(healthy: pme.Diagnosis) -> None:
    assert healthy.ok
    assert not_ok(healthy.to_dict()["checks"]) == {}
    assert_each_says_what_to_do(healthy.to_dict()["checks"])


def test_versions_and_jars_are_those_of_this_session(healthy: pme.Diagnosis, spark: SparkSession) -> None:
    assert check_named(healthy, "PySpark")["found"] == f"{pyspark_version}, the same as Spark"
    assert check_named(healthy, "Spark")["found"] == spark.version
    connector = check_named(healthy, "connector")["found"]
    assert connector.startswith(f"pme-parquet-spark-{'3.5' if spark.version.startswith('3') else '4.0'}_2.1")
    assert connector.endswith(f" {VERSION}, from {pme.jar_path()}")
    parquet = PARQUET[".".join(spark.version.split(".")[:2])]
    for artifact in ("parquet-hadoop", "parquet-column", "parquet-format-structures"):
        assert check_named(healthy, artifact)["found"].startswith(f"{parquet}, from ")
    assert check_named(healthy, "wheel")["found"] == f"pme-parquet {VERSION}, the same as the connector"
    assert check_named(healthy, "executors")["found"] == "none: tasks run in the driver (local[2])"


def test_aes_is_measured(healthy: pme.Diagnosis) -> None:
    assert "GB/s (128 bits, modules of 64 KiB)" in check_named(healthy, "AES speed on the driver")["found"]
    assert "GB/s (256 bits, modules of 1024 KiB)" in check_named(healthy, "AES speed on the driver")["found"]
    assert check_named(healthy, "AES provider on the driver")["found"]


def test_each_named_key_is_wrapped_and_unwrapped_by_driver_and_executor(healthy: pme.Diagnosis) -> None:
    for key in ("footer", "pii"):
        assert check_named(healthy, f"key '{key}' from driver")["found"].startswith("wrapped in ")
        assert check_named(healthy, f"key '{key}' from executor")["found"].startswith(
            "through the driver, unwrapped in "
        )


def test_executors_fetch_direct_keys_themselves_with_call_from_executor(
    spark: SparkSession, keys: pme.Keystore
) -> None:
    direct = pme.Encryption(kms=keys, uniform_key="footer", key_management="direct")
    diagnosis = pme.doctor(spark, direct, options={"kms.callFrom": "executor"})
    assert check_named(diagnosis, "key 'footer' from driver")["found"].startswith("fetched in ")
    assert check_named(diagnosis, "key 'footer' from executor")["found"].startswith("by itself, fetched in ")
    assert "kms.callFrom=executor" in check_named(diagnosis, "KMS")["found"]


@pytest.mark.parametrize(("twice", "wraps"), [("true", 1), ("false", 2)])
def test_the_kms_is_called_as_reads_and_writes_call_it(spark: SparkSession, twice: str, wraps: int) -> None:
    client = Client()
    assert pme.doctor(spark, pme.PythonKms(client), options={"uniformKey": "k", "doubleWrapping": twice}).ok
    assert (client.count("wrap"), client.count("unwrap")) == ({"k": wraps}, {"k": 2})


def test_without_a_kms_and_table_formats_nothing_is_checked_of_them(spark: SparkSession) -> None:
    diagnosis = pme.doctor(spark)
    check = check_named(diagnosis, "KMS")
    assert (check["status"], check["found"]) == ("warning", "none is named, so none was called")
    assert check["remedy"] == "Name one: pme.doctor(spark, kms=…)."
    names = [check.name for check in diagnosis.checks]
    assert not [name for name in names if name.startswith(("Delta", "Iceberg")) or "factory" in name]


def test_settings_of_the_session_are_looked_at_and_a_kms_without_keys_is_opened(
    spark: SparkSession, keys: pme.Keystore
) -> None:
    secret = "AAECAwQFBgcICQoLDA0ODw=="
    own = spark.newSession()
    settings = {"parquet.encryption.key.list": f"k:{secret}", "parquet.crypto.factory.class": "com.example.Factory"}
    settings |= {"spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog"}
    for name, value in settings.items():
        own.conf.set(name, value)
    own.conf.set("spark.sql.catalog.lake.encryption.kms-impl", "org.example.NoClient")
    diagnosis = pme.doctor(own, keys)
    hadoop, kms = check_named(diagnosis, "Hadoop settings"), check_named(diagnosis, "KMS")
    assert hadoop["status"] == kms["status"] == "warning"
    assert hadoop["found"].endswith("uses parquet.crypto.factory.class, parquet.encryption.key.list")
    assert "Remove them" in hadoop["remedy"]
    assert "no key is named" in kms["found"]
    assert "give a pme.Encryption" in kms["remedy"]
    assert "NoClient, which is not on the class path" in check_named(diagnosis, "Iceberg catalog 'lake'")["found"]
    assert_each_says_what_to_do(diagnosis.to_dict()["checks"])
    assert secret not in str(forms(diagnosis))


REFUSED = {
    "denied key": ("PME_KEY_DENIED", "Ask for access to the key"),
    "missing key": ("PME_KEY_NOT_FOUND", "Create the key"),
    "down": ("PME_KMS_UNAVAILABLE", "Check address, network, path and password."),
}


def test_each_key_that_the_kms_refuses_is_a_problem(spark: SparkSession) -> None:
    columns = {key: key for key in REFUSED}
    tried = pme.Encryption(kms=pme.KmsClass(TEST_KMS), footer_key="k", column_keys=columns)
    diagnosis = pme.doctor(spark, tried)
    assert not diagnosis.ok
    assert_each_says_what_to_do(diagnosis.to_dict()["checks"])
    assert check_named(diagnosis, "key 'k' from driver")["status"] == "ok"
    for key, (condition, remedy) in REFUSED.items():
        check = check_named(diagnosis, f"key '{key}' from driver")
        assert (check["status"], condition in check["found"], remedy in check["remedy"]) == ("problem", True, True)


def test_a_missing_keystore_is_a_problem(spark: SparkSession, tmp_path: Path) -> None:
    nowhere = pme.Keystore(str(tmp_path / "none.p12"), password=pme.env("PME_TEST_PASSWORD"))
    check = check_named(pme.doctor(spark, nowhere, options={"uniformKey": "k"}), "KMS")
    assert "[PME_KMS_UNAVAILABLE]" in check["found"]
    assert "there is no such file" in check["found"]


def test_a_misspelt_setting_of_the_session_is_a_problem(spark: SparkSession, conf: Conf) -> None:
    with conf({"spark.datasource.pme-parquet.footerKy": "footer"}):
        diagnosis = pme.doctor(spark)
    check = check_named(diagnosis, "options")
    assert not diagnosis.ok
    assert "Did you mean 'footerKey'" in check["found"]
    assert "Use the name that the message suggests." in check["remedy"]


def test_no_secret_is_in_any_form(healthy: pme.Diagnosis) -> None:
    for form, shown in forms(healthy).items():
        assert PASSWORD not in shown, form


def test_sql_gives_the_same_answer(spark: SparkSession, keys: pme.Keystore, healthy: pme.Diagnosis) -> None:
    options = keys.options() | {"footerKey": "footer", "columnKeys": "pii: ssn"}
    given = ", ".join(f"'{text}'" for option in options.items() for text in option)
    rows = spark.sql(f"SELECT * FROM pme_doctor(options => map({given}))").collect()
    names = [check.name for check in healthy.checks if check.name not in {"Python", "PySpark", "session", "wheel"}]
    assert [row["name"] for row in rows] == names
    assert {row["status"] for row in rows if not row["name"].startswith("AES")} == {"ok"}


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
    assert_each_says_what_to_do(diagnosis.to_dict()["checks"])
