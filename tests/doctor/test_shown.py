"""How a diagnosis is shown, and what Python sees by itself."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

import pme_parquet as pme
from pme_parquet._doctor import checks
from pme_parquet._spark.connector import Connector, evaluated
from tests.support.shown import all_of, forms

OK = pme.Check("Java", "ok", "17")
WARNING = pme.Check("RPC", "warning", "not encrypted", "Set it.")
PROBLEM = pme.Check("key 'k'", "problem", "refused <b>\x1b[2J[red]", "Ask for access.")


def test_text_has_a_line_for_each_check_and_one_for_what_to_do() -> None:
    assert str(pme.Diagnosis((OK, WARNING, PROBLEM))).splitlines() == [
        "pme-parquet doctor: 1 problem, 1 warning, 1 ok",
        "",
        "  ok       Java     17",
        "  warning  RPC      not encrypted",
        "                    -> Set it.",
        r"  problem  key 'k'  refused <b>\x1b[2J[red]",
        "                    -> Ask for access.",
    ]


def test_found_text_cannot_control_a_terminal_or_a_notebook() -> None:
    shown = forms(pme.Diagnosis((PROBLEM,)))
    assert "\x1b[2J" not in shown["rich"]
    assert "[red]" in shown["rich"]
    assert "<b>" not in shown["html"]


def test_only_a_problem_is_not_ok() -> None:
    assert pme.Diagnosis((OK, WARNING)).ok
    assert not pme.Diagnosis((OK, PROBLEM)).ok


def test_the_dict_is_json() -> None:
    told = json.loads(json.dumps(pme.Diagnosis((OK, WARNING)).to_dict()))
    assert told["ok"] is True
    assert told["checks"][1] == {"name": "RPC", "status": "warning", "found": "not encrypted", "remedy": "Set it."}


def test_a_pyspark_of_another_version_than_spark_is_a_problem() -> None:
    assert checks.pyspark("4.0.4", "4.0.4").status == "ok"
    assert checks.pyspark("4.0.4+vendor.1", "4.0.4-vendor-1").status == "ok"
    check = checks.pyspark("4.0.4", "3.5.9")
    assert (check.status, check.found) == ("problem", "4.0.4, but Spark is 3.5.9")
    assert "pip install pyspark==3.5.9" in check.remedy


def test_a_connect_client_may_be_of_another_version_than_its_server() -> None:
    assert checks.client("4.0.4", "4.1.3").status == "ok"
    check = checks.client("4.0.4", "5.0.0")
    assert check.status == "warning"
    assert "pyspark-client==5.0.0" in check.remedy


def test_an_old_python_is_a_problem() -> None:
    assert checks.python((3, 10, 0)).status == "ok"
    check = checks.python((3, 9, 18))
    assert (check.status, check.remedy) == ("problem", "Use Python 3.10 or later.")


def session(java: str, examine: Any = None) -> Any:
    """Return a stand-in for a classic session in which the connector is missing or fails."""
    admin = SimpleNamespace(Doctor=SimpleNamespace(examine=examine))
    audience = SimpleNamespace(use=lambda _: None)
    jvm = SimpleNamespace(
        io=SimpleNamespace(pmeparquet=SimpleNamespace(spark=SimpleNamespace(admin=admin), Audience=audience)),
        java=SimpleNamespace(
            lang=SimpleNamespace(System=SimpleNamespace(getProperty=lambda _: java)), util=SimpleNamespace(HashMap=dict)
        ),
    )
    settings = {"spark.jars": "https://user:secret@host/other.jar?token=secret,/x/y.jar"}
    context = SimpleNamespace(getConf=lambda: settings)
    return SimpleNamespace(_jsparkSession=object(), _jvm=jvm, sparkContext=context, version="3.5.9")


@pytest.fixture(autouse=True)
def java_maps_are_dicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pme_parquet._spark.driver._java", lambda _, argument: argument)


@pytest.fixture
def no_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "misfit", lambda _: evaluated(None, "3.5.9", "2.12.18", "0.1.0"))


@pytest.fixture
def a_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "misfit", lambda _: None)


def test_a_session_without_the_connector_shows_how_to_get_it(no_connector: None) -> None:
    diagnosis = pme.doctor(session("17"))
    check = diagnosis.checks[-1]
    assert (check.name, check.status) == ("connector", "problem")
    assert check.found == ("the connector jar is not on the class path of this session (spark.jars: other.jar, y.jar)")
    assert "Restart Python" in check.remedy
    assert "pme.configure(SparkSession.builder)" in check.remedy
    assert "pme-parquet-spark-3.5" in check.remedy
    assert "secret" not in str(all_of(diagnosis))


def test_without_the_connector_python_reports_java(no_connector: None) -> None:
    [_, java, _] = checks.classic_checks(session("11"), {})
    assert (java.name, java.status, java.remedy) == (
        "Java",
        "problem",
        "Run Spark with Java 17 or later: set JAVA_HOME.",
    )


def test_a_connector_for_another_scala_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        checks, "misfit", lambda _: evaluated(Connector("0.1.0", "3.5", "2.12"), "4.1.3", "2.13.16", "")
    )
    check = pme.doctor(session("17")).checks[-1]
    assert check.status == "problem"
    assert check.found.startswith("the connector is for Scala 2.12, but this Spark has 2.13.16")
    assert "Remove that connector from the class path" in check.remedy


def test_a_connector_that_cannot_run_is_a_problem(a_connector: None) -> None:
    def examine(*_: object) -> object:
        message = "java.lang.NoClassDefFoundError: scala/Serializable\n\tat many places"
        raise RuntimeError(message)

    [kind, java, connector] = checks.classic_checks(session("17", examine), {})
    assert kind.found.startswith("classic, ")
    assert java.status == "ok"
    assert connector.status == "problem"
    assert connector.found.endswith("RuntimeError: java.lang.NoClassDefFoundError: scala/Serializable")
    assert "jar_path()" in connector.remedy


def client(message: str) -> Any:
    """Return a stand-in for a Connect session of a server that fails in this way."""

    def fails(*_: object) -> object:
        raise RuntimeError(message)

    reader = SimpleNamespace()
    reader.format = reader.schema = lambda _: reader
    reader.load = fails
    return SimpleNamespace(version="4.0.4", read=reader, sql=fails)


def test_a_connect_server_without_the_format_shows_how_to_get_it() -> None:
    check = pme.doctor(client("[DATA_SOURCE_NOT_FOUND] Failed to find")).checks[-1]
    assert check.status == "problem"
    assert "Start the server with the connector's jar" in check.remedy


def test_what_a_connect_server_does_not_report_is_listed_as_not_checked() -> None:
    check = pme.doctor(client("no such function")).checks[-1]
    assert check.status == "warning"
    assert check.found.startswith("versions, jars, executors, AES, RPC and KMS were not checked")
    assert "classic session" in check.remedy


def test_options_cannot_end_the_statement_that_carries_them() -> None:
    query = checks._query({"footerKey": "k'); DROP TABLE t; --\\"})
    assert "DROP" not in query
    assert "X'" in query
