"""The right connector jar for each Spark, or an error that says which are supported."""

from pathlib import Path

import pytest

import pme_parquet as pme
from pme_parquet._spark import connector
from tests.support.session import EXTENSION

pytestmark = pytest.mark.all_rows

NAMES = [
    "pme-parquet-spark-3.5_2.12-0.1.0.jar",
    "pme-parquet-spark-3.5_2.13-0.1.0.jar",
    "pme-parquet-spark-4.0_2.13-0.1.0.jar",
]


@pytest.fixture(autouse=True)
def bundled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).touch()
    monkeypatch.setattr(connector, "JARS", tmp_path)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("spark", "scala", "jar"),
    [
        ("3.5.9", None, NAMES[0]),
        ("3.5.0", "2.12", NAMES[0]),
        ("3.5.9", "2.13", NAMES[1]),
        ("4.0.5", None, NAMES[2]),
        ("4.1.4", "2.13", NAMES[2]),
        ("4.3.0", None, NAMES[2]),
        ("4.2.0.dev1", None, NAMES[2]),
    ],
)
def test_each_supported_spark_has_its_jar(spark: str, scala: str | None, jar: str) -> None:
    assert Path(pme.jar_path(spark, scala)).name == jar


@pytest.mark.parametrize(("spark", "scala"), [("3.4.4", None), ("2.4.8", "2.12"), ("4.0.0", "2.12"), ("5.0.0", None)])
def test_any_other_spark_is_refused_with_the_supported_ones(spark: str, scala: str | None) -> None:
    with pytest.raises(pme.UnsupportedError, match=r"Spark 3\.5 .* and Spark 4\.x") as caught:
        pme.jar_path(spark, scala)
    assert spark in str(caught.value)


def test_the_installed_pyspark_is_what_counts_when_nothing_is_named() -> None:
    assert Path(pme.jar_path()).name in {NAMES[0], NAMES[2]}


def test_the_scala_version_of_spark_home_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("spark")
    (home / "jars").mkdir()
    (home / "jars" / "scala-library-2.13.8.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(home))
    monkeypatch.setattr(connector, "installed_version", lambda: "3.5.9")
    assert Path(pme.jar_path()).name == NAMES[1]


def test_an_installation_without_jars_says_how_to_get_them(bundled: Path) -> None:
    for jar in bundled.iterdir():
        jar.unlink()
    with pytest.raises(pme.UnsupportedError, match="make wheel"):
        pme.jar_path("4.0.0")


def test_spark_config_is_the_jar_the_extension_and_formats_with_defaults() -> None:
    assert pme.spark_config() == {
        "spark.jars": pme.jar_path(),
        "spark.sql.extensions": EXTENSION,
        "spark.sql.defaultColumn.allowedProviders": ("csv,json,orc,parquet,pme-parquet,pme_parquet,pme-orc,pme_orc"),
    }
