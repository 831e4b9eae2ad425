"""What the wheel contains. tests/packaging/test_cluster.py installs it and runs it beside a jar."""

import zipfile
from pathlib import Path

import pytest

from tests.packaging.places import WHEEL
from tests.support.session import VERSION

JARS = [f"pme-parquet-spark-{line}-{VERSION}.jar" for line in ("3.5_2.12", "3.5_2.13", "4.0_2.13")]


def _names() -> list[str]:
    with zipfile.ZipFile(WHEEL) as wheel:
        return wheel.namelist()


def test_the_wheel_carries_exactly_the_three_connector_jars() -> None:
    assert sorted(name for name in _names() if name.endswith(".jar")) == [f"pme_parquet/jars/{jar}" for jar in JARS]


def test_the_wheel_says_that_it_is_typed_and_under_which_licence() -> None:
    assert "pme_parquet/py.typed" in _names()
    assert [name for name in _names() if name.endswith("licenses/LICENSE")]


@pytest.mark.parametrize("jar", JARS)
def test_each_jar_holds_the_data_source_and_no_classes_of_other_projects(jar: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(WHEEL) as wheel:
        path = wheel.extract(f"pme_parquet/jars/{jar}", tmp_path)
    with zipfile.ZipFile(path) as content:
        names = content.namelist()
    assert "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister" in names
    assert [n for n in names if n.endswith(".class") and not n.startswith("io/pmeparquet/")] == []


def test_the_jars_of_one_scala_version_hold_the_same_core(tmp_path: Path) -> None:
    with zipfile.ZipFile(WHEEL) as wheel:
        paths = [wheel.extract(f"pme_parquet/jars/{jar}", tmp_path) for jar in JARS if "2.13" in jar]
    sizes = []
    for path in paths:
        with zipfile.ZipFile(path) as content:
            sizes.append(
                {i.filename: i.CRC for i in content.infolist() if i.filename.startswith("io/pmeparquet/keys/")}
            )
    assert sizes[0]
    assert sizes[0] == sizes[1]
