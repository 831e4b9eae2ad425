"""`configure` adds the connector to the jars that are already set, wherever they are set."""

import os
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

import pme_parquet as pme
from pme_parquet._spark import connector, session
from tests.support.session import EXTENSION

OURS = "/site/pme_parquet/jars/pme-parquet-spark-4.0_2.13-0.1.0.jar"
AMAZONS = "/site/pme_parquet_accp/jars/AmazonCorrettoCryptoProvider-2.5.0-linux-x86_64.jar"


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(session, "jar_path", lambda **_: OURS)


@pytest.fixture
def extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the extra `accp` look installed."""
    monkeypatch.setitem(sys.modules, "pme_parquet_accp", SimpleNamespace(jar_path=lambda: AMAZONS))


def _jars(builder: SparkSession.Builder) -> list[str]:
    return str(builder._options["spark.jars"]).split(",")


def _builder() -> SparkSession.Builder:
    return SparkSession.Builder()


def test_a_bare_builder_gets_the_jar() -> None:
    assert _jars(pme.configure(_builder())) == [OURS]


def test_jars_on_the_builder_stay() -> None:
    assert _jars(pme.configure(_builder().config("spark.jars", "a.jar, b.jar"))) == ["a.jar", "b.jar", OURS]


def test_configuring_twice_adds_the_jar_once() -> None:
    assert _jars(pme.configure(pme.configure(_builder()))) == [OURS]


@pytest.mark.parametrize("group", ["", "io.pmeparquet_"])
def test_a_connector_of_the_users_own_is_left_alone(group: str) -> None:
    own = f"/opt/{group}pme-parquet-spark-4.0_2.13-0.2.0.jar"
    assert _jars(pme.configure(_builder().config("spark.jars", own))) == [own]


def test_other_settings_of_the_builder_stay() -> None:
    builder = pme.configure(_builder().config("spark.ui.enabled", "false"))
    assert builder._options["spark.ui.enabled"] == "false"


def test_jars_of_the_submit_arguments_stay_and_get_ours_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars 'a b.jar' --verbose pyspark-shell")
    assert _jars(pme.configure(_builder())) == ["a b.jar", OURS]
    assert shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"]) == ["--jars", f"a b.jar,{OURS}", "--verbose", "pyspark-shell"]


@pytest.mark.parametrize("line", ["spark.jars a.jar,b.jar", "spark.jars=a.jar,b.jar", "  spark.jars\t a.jar,b.jar  "])
def test_jars_of_spark_defaults_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str) -> None:
    (tmp_path / "spark-defaults.conf").write_text(f"# spark.jars z.jar\n\nspark.jars.packages x:y:1\n{line}\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert _jars(pme.configure(_builder())) == ["a.jar", "b.jar", OURS]


def _extensions(builder: SparkSession.Builder) -> str:
    return str(pme.configure(builder)._options["spark.sql.extensions"])


def test_the_extension_is_added_to_those_that_are_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert _extensions(_builder()) == EXTENSION
    assert _extensions(pme.configure(_builder())) == EXTENSION
    assert _extensions(_builder().config("spark.sql.extensions", "a.B, c.D")) == f"a.B,c.D,{EXTENSION}"
    (tmp_path / "spark-defaults.conf").write_text("spark.sql.extensions e.F\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert _extensions(_builder()) == f"e.F,{EXTENSION}"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.sql.extensions=g.H --conf x=y pyspark-shell")
    assert _extensions(_builder()) == f"g.H,{EXTENSION}"


def test_a_connect_session_that_starts_its_server_here_gets_the_jar() -> None:
    assert _jars(pme.configure(_builder().config("spark.remote", "local[1]"))) == [OURS]


def test_a_remote_connect_server_gets_no_jar_of_ours() -> None:
    assert "spark.jars" not in pme.configure(_builder().config("spark.remote", "sc://elsewhere:15002"))._options


def test_a_jvm_without_the_connector_does_not_matter_to_a_remote_server(monkeypatch: pytest.MonkeyPatch) -> None:
    context = SimpleNamespace(_jvm=object())
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(SparkContext=context))
    monkeypatch.setattr(connector, "misfit", lambda _: connector.missing("4.1.3", "2.13.16"))
    with pytest.raises(pme.UnsupportedError):
        pme.configure(_builder())
    elsewhere = _builder().config("spark.remote", "sc://elsewhere:15002")
    assert pme.configure(elsewhere) is elsewhere


def test_the_extra_adds_amazons_provider(extra: None) -> None:
    assert _jars(pme.configure(_builder())) == [OURS, AMAZONS]
    assert _jars(pme.configure(pme.configure(_builder()))) == [OURS, AMAZONS]
    assert pme.spark_config()["spark.jars"] == f"{OURS},{AMAZONS}"


def test_a_provider_of_the_users_own_is_left_alone(extra: None) -> None:
    own = "/opt/AmazonCorrettoCryptoProvider-2.6.0-linux-x86_64.jar"
    assert _jars(pme.configure(_builder().config("spark.jars", own))) == [own, OURS]


def test_the_submit_arguments_get_amazons_provider_too(extra: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars a.jar pyspark-shell")
    assert _jars(pme.configure(_builder())) == ["a.jar", OURS, AMAZONS]
    assert shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"]) == ["--jars", f"a.jar,{OURS},{AMAZONS}", "pyspark-shell"]


def test_where_amazon_has_no_provider_for_the_machine_the_extra_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pme_parquet_accp", SimpleNamespace(jar_path=lambda: None))
    assert _jars(pme.configure(_builder())) == [OURS]


ENC = pme.Encryption(
    kms=pme.Keystore("keys.p12", password=pme.env("P")), footer_key="footer", column_keys={"pii": ["ssn"]}, kek_bits=256
)


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)


@pytest.mark.usefixtures("no_session")
def test_a_session_for_delta_has_all_that_encrypts_and_no_keys_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "installed_version", lambda: "4.2.1")
    monkeypatch.setattr(connector, "installed_scala", lambda: "2.13")
    builder = _builder().config("spark.jars.packages", "a:b:1").config("spark.sql.extensions", "com.example.Own")
    made = dict(pme.configure(builder, delta=ENC)._options)
    assert made.pop("spark.jars") == OURS
    assert made.pop("spark.sql.defaultColumn.allowedProviders").endswith("pme-orc,pme_orc")
    assert made == {
        "spark.jars.packages": "a:b:1,io.delta:delta-spark_4.2_2.13:4.4.0",
        "spark.sql.extensions": f"com.example.Own,{EXTENSION},io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.delta.logStore.class": "io.pmeparquet.delta.PmeLogStore",
        "spark.hadoop.parquet.crypto.factory.class": "io.pmeparquet.parquet.PmeCryptoFactory",
        "spark.hadoop.pme-parquet.kms": "keystore",
        "spark.hadoop.pme-parquet.kms.keystore.path": "keys.p12",
        "spark.hadoop.pme-parquet.kms.keystore.type": "PKCS12",
        "spark.hadoop.pme-parquet.kms.keystore.password": "env:P",
        "spark.hadoop.pme-parquet.kekBits": "256",
        "spark.hadoop.pme-parquet.footerKey": "footer",
    }


@pytest.mark.usefixtures("no_session")
def test_a_delta_of_the_users_own_is_left_alone() -> None:
    builder = pme.configure(_builder().config("spark.jars", "/opt/delta-spark_2.13-4.4.0.jar"), delta=ENC)
    assert "spark.jars.packages" not in builder._options


@pytest.mark.usefixtures("no_session")
def test_a_spark_without_a_delta_says_which_pyspark_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "installed_version", lambda: "4.3.0")
    with pytest.raises(pme.UnsupportedError, match=r"no Delta for Spark 4\.3\.0.*pip install pyspark==4\.2\.1"):
        pme.configure(_builder(), delta=ENC)


@pytest.mark.usefixtures("no_session")
def test_delta_needs_a_footer_key() -> None:
    with pytest.raises(pme.NoKeyError, match="which checkpoints need"):
        pme.configure(_builder(), delta=pme.Encryption(kms="vault"))


def test_a_session_that_runs_is_not_made_to_look_as_if_it_encrypted_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_check_what_runs", lambda: None)
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", object())
    with pytest.raises(pme.UnsupportedError, match="would write plaintext"):
        pme.configure(_builder(), delta=ENC)


def test_columns_of_both_formats_may_have_defaults() -> None:
    names = "pme-parquet,pme_parquet,pme-orc,pme_orc"
    setting = "spark.sql.defaultColumn.allowedProviders"
    assert pme.configure(_builder())._options[setting] == f"csv,json,orc,parquet,{names}"
    assert pme.configure(_builder().config(setting, "parquet"))._options[setting] == f"parquet,{names}"
