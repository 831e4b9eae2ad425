"""A session without a connector, or with one that does not fit, gets one sentence that says so and what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from pme_parquet._spark import connector, session
from pme_parquet._spark.connector import Connector, evaluated, misfit_in
from tests.support.processes import environment

if TYPE_CHECKING:
    from pathlib import Path

FITS = Connector("0.1.0", "4.0", "2.13")


def kind(connector: Connector | None, spark: str = "4.1.3", scala: str = "2.13.16", wheel: str = "0.1.0") -> str | None:
    found = evaluated(connector, spark, scala, wheel)
    return found.kind if found else None


def test_a_connector_that_fits_is_not_a_misfit() -> None:
    assert kind(FITS) is None
    assert kind(FITS, spark="4.3.0-vendor") is None
    assert kind(Connector("0.1.0", "3.5", "2.12"), "3.5.9", "2.12.18") is None
    assert kind(Connector()) is None
    assert kind(FITS, spark="5.0.0") is None


def test_each_kind_of_misfit_is_distinguished() -> None:
    assert kind(None) == "missing"
    assert kind(Connector("0.1.0", "3.5", "2.12")) == "scala"
    assert kind(Connector("0.1.0", "3.5", "2.13")) == "spark"
    assert kind(FITS, "3.5.9", "2.13.8") == "spark"
    assert kind(Connector("0.2.0", "4.0", "2.13")) == "version"


@pytest.mark.parametrize(
    ("connector", "mentions"),
    [
        (None, ["jar is not on the class path", "Restart Python", "pme.configure", "pme-parquet-spark-4.0_2.13"]),
        (Connector("0.1.0", "3.5", "2.12"), ["for Scala 2.12, but this Spark has 2.13.16", "class path"]),
        (Connector("0.1.0", "3.5", "2.13"), ["for Spark 3.5, but this is Spark 4.1.3"]),
        (
            Connector("0.2.0", "4.0", "2.13"),
            ["has version 0.2.0, but pme-parquet in Python has 0.1.0", "Install the wheel"],
        ),
    ],
)
def test_each_misfit_says_what_to_do(connector: Connector | None, mentions: list[str]) -> None:
    found = evaluated(connector, "4.1.3", "2.13.16", "0.1.0")
    assert found is not None
    error = found.error("pme.verify")
    assert isinstance(error, pme.UnsupportedError)
    assert 'pme.verify: format("pme-parquet") cannot be used: ' in error.message
    for words in mentions:
        assert words in error.message


def test_under_spark_submit_the_jar_goes_to_spark_submit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert "spark-submit with --jars" in connector.missing("4.1.3", "2.13.16").remedy


def test_messages_of_spark_are_recognized() -> None:
    missing = (
        "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: pme-parquet. Make sure the provider name is correct"
    )
    provider = (
        "java.util.ServiceConfigurationError: org.apache.spark.sql.sources.DataSourceRegister: "
        "Provider io.pmeparquet.spark.PmeDataSource could not be instantiated"
    )
    assert misfit_in(missing) == connector.missing()
    assert misfit_in(missing, connect=True) == connector.missing_on_server()
    unfit = misfit_in(provider)
    assert unfit is not None
    assert unfit.kind == "spark"
    assert misfit_in("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: avro") is None
    assert misfit_in("java.util.ServiceConfigurationError: Provider com.example.Other not found") is None


def test_configure_fails_where_a_jvm_runs_without_the_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[bool] = []
    setup = SimpleNamespace(install=lambda: installed.append(True))
    spark = SimpleNamespace(rules=SimpleNamespace(SessionSetup=setup))
    jvm = SimpleNamespace(io=SimpleNamespace(pmeparquet=SimpleNamespace(spark=spark)))
    context = SimpleNamespace(SparkContext=SimpleNamespace(_jvm=jvm))
    monkeypatch.setitem(sys.modules, "pyspark", context)
    monkeypatch.setattr(connector, "misfit", lambda _: connector.missing("4.1.3", "2.13.16"))
    with pytest.raises(pme.UnsupportedError, match="Restart Python"):
        session._check_what_runs()
    assert not installed
    monkeypatch.setattr(connector, "misfit", lambda _: None)
    session._check_what_runs()
    assert installed


LATE = """
import sys
from pyspark.sql import SparkSession
import pme_parquet as pme
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
keys = pme.Keystore("keys.p12", password=pme.env("NO_SECRET"))
enc = pme.Encryption(kms=keys, uniform_key="k")
frame = spark.range(1)
calls = [
    lambda: pme.configure(SparkSession.builder),
    lambda: pme.read(spark, "t", keys),
    lambda: pme.write(frame, "t", enc),
    lambda: spark.read.format("pme-parquet").load("t"),
    lambda: pme.verify(spark, "t", kms=keys),
    lambda: pme.rotate(spark, "t", kms=keys),
    lambda: pme.key_usage(spark, "t"),
    lambda: pme.encrypt(spark, "a", "b", enc),
    lambda: pme.encrypt(spark, "a", enc=enc, in_place=True),
    lambda: pme.rekey(spark, "a", "b", enc),
    lambda: pme.decrypt(spark, "a", "b", keys, write_plaintext=True),
    lambda: pme.plan(frame, enc),
    lambda: pme.report("t", spark=spark, kms=keys),
    lambda: pme.PythonKms(object()).options(),
]
def try_all(expected):
    for call in calls:
        try:
            call()
            print("no error")
        except pme.PmeError as error:
            print(error.condition, str(error).count("\\n"), "cannot be used:", expected in str(error))
        except BaseException as error:
            print(type(error), str(error)[:300].replace("\\n", " "))
    [problem] = [check for check in pme.doctor(spark).checks if check.name == "connector"]
    print(problem.status, expected in problem.found, bool(problem.remedy))
try_all("the connector jar is not on the class path")
# A session cannot get a jar; this one does, as if its class path had had the jar.
jvm = spark._jvm
jvm.java.lang.Thread.currentThread().getContextClassLoader().addURL(jvm.java.io.File(sys.argv[1]).toURI().toURL())
try_all("the connector is for Scala")
"""


def test_every_function_says_what_is_wrong_with_the_session(tmp_path: Path) -> None:
    spark, scala = ("4.0.0", "2.13") if "_2.12" in pme.jar_path() else ("3.5.0", "2.12")
    done = subprocess.run(
        [sys.executable, "-c", LATE, pme.jar_path(spark, scala)],
        env=environment() | {"NO_SECRET": "none at all"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told = ["PME_UNSUPPORTED 0 cannot be used: True"] * 14 + ["problem True True"]
    assert done.stdout.splitlines() == told * 2
    assert not os.listdir(tmp_path)  # noqa: PTH208 names are enough
