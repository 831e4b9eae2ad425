"""The doctor on a classic session, with the Spark that runs the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.version import __version__ as pyspark_version

import pme_parquet as pme
from tests.support.judging import assert_each_says_what_to_do, forms, named, not_ok
from tests.support.kms.counting_client import Client
from tests.support.kms.denied import Guarded
from tests.support.session import PASSWORD, VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

PARQUET = {"3.5": "1.13.1", "4.0": "1.15.2", "4.1": "1.16.0", "4.2": "1.17.0", "4.3": "1.17.0"}


@pytest.fixture(scope="module")
def healthy(spark: SparkSession, keys: pme.Keystore) -> pme.Diagnosis:
    """Return the diagnosis of the tests' session, with keys."""
    return pme.doctor(spark, pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["ssn"]}))


def check_named(diagnosis: pme.Diagnosis, name: str) -> dict[str, str]:
    return named(diagnosis.to_dict()["checks"], name)


def key_from_driver(spark: SparkSession, kms: pme.Encryption) -> dict[str, str]:
    diagnosis = pme.doctor(spark, kms)
    assert not diagnosis.ok
    assert_each_says_what_to_do(diagnosis.to_dict()["checks"])
    return check_named(diagnosis, "key 'k' from driver")


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


def test_executors_call_the_kms_themselves_with_call_from_executor(spark: SparkSession, keys: pme.Keystore) -> None:
    diagnosis = pme.doctor(spark, keys, options={"footerKey": "footer", "kms.callFrom": "executor"})
    assert check_named(diagnosis, "key 'footer' from executor")["found"].startswith("by itself, unwrapped in ")
    assert "kms.callFrom=executor" in check_named(diagnosis, "KMS")["found"]


def test_a_direct_key_is_fetched(spark: SparkSession, keys: pme.Keystore) -> None:
    diagnosis = pme.doctor(spark, pme.Encryption(kms=keys, uniform_key="footer", key_management="direct"))
    assert check_named(diagnosis, "key 'footer' from driver")["found"].startswith("fetched in ")
    assert check_named(diagnosis, "key 'footer' from executor")["found"].startswith("through the driver, fetched in ")


@pytest.mark.parametrize(("twice", "wraps"), [("true", 1), ("false", 2)])
def test_the_kms_is_called_as_reads_and_writes_call_it(spark: SparkSession, twice: str, wraps: int) -> None:
    client = Client()
    assert pme.doctor(spark, pme.PythonKms(client), options={"uniformKey": "k", "doubleWrapping": twice}).ok
    assert (client.count("wrap"), client.count("unwrap")) == ({"k": wraps}, {"k": 2})


def test_without_a_kms_none_is_called(spark: SparkSession) -> None:
    check = check_named(pme.doctor(spark), "KMS")
    assert (check["status"], check["found"]) == ("warning", "none is named, so none was called")
    assert check["remedy"] == "Name one: pme.doctor(spark, kms=…)."


def test_a_kms_without_keys_is_opened(spark: SparkSession, keys: pme.Keystore) -> None:
    check = check_named(pme.doctor(spark, keys), "KMS")
    assert check["status"] == "warning"
    assert "no key is named" in check["found"]
    assert "give a pme.Encryption" in check["remedy"]


def test_a_refused_key_is_a_problem(spark: SparkSession) -> None:
    refused = key_from_driver(spark, pme.Encryption(kms=pme.PythonKms(Guarded("k")), uniform_key="k"))
    assert "[PME_KEY_DENIED]" in refused["found"]
    assert "Ask for access to the key" in refused["remedy"]


def test_a_missing_key_is_a_problem(spark: SparkSession, keys: pme.Keystore) -> None:
    missing = key_from_driver(spark, pme.Encryption(kms=keys, footer_key="k"))
    assert "[PME_KEY_NOT_FOUND]" in missing["found"]
    assert "Create the key" in missing["remedy"]


def test_an_unreachable_kms_is_a_problem(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    vault = pme.Vault("http://127.0.0.1:9", token=pme.env("PME_TEST_PASSWORD"))
    options = {"uniformKey": "k", "kms.timeoutSeconds": "2"}
    diagnosis = pme.doctor(spark, vault, options=options)
    check = check_named(diagnosis, "key 'k' from driver")
    assert "[PME_KMS_UNAVAILABLE]" in check["found"]
    assert "Check address, network, path and password." in check["remedy"]
    assert PASSWORD not in str(forms(diagnosis))


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
    assert "footerKy" in check["found"]
    assert "Use the name that the message suggests." in check["remedy"]


def test_a_misspelt_option_is_a_problem(spark: SparkSession, keys: pme.Keystore) -> None:
    diagnosis = pme.doctor(spark, keys, options={"footerKy": "footer"})
    assert "Did you mean 'footerKey'" in check_named(diagnosis, "options")["found"]


def test_hadoop_settings_for_spark_s_own_source_are_listed_without_values(spark: SparkSession, conf: Conf) -> None:
    secret = "AAECAwQFBgcICQoLDA0ODw=="
    settings = {"parquet.encryption.key.list": f"k:{secret}", "parquet.crypto.factory.class": "com.example.Factory"}
    with conf(settings):
        diagnosis = pme.doctor(spark)
    check = check_named(diagnosis, "Hadoop settings")
    assert check["status"] == "warning"
    assert check["found"].endswith("uses parquet.crypto.factory.class, parquet.encryption.key.list")
    assert "Remove them" in check["remedy"]
    assert secret not in str(forms(diagnosis))


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
