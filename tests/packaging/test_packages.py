"""`spark-submit --packages` finds the connector where it is published, and needs nothing else."""

import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.packaging.places import IVY, MAVEN, artifact, submit
from tests.support.session import VERSION


def _packages() -> list[str]:
    return ["--packages", f"io.pmeparquet:{artifact()}:{VERSION}"]


def test_the_connector_resolves_from_an_ivy_repository(tmp_path: Path) -> None:
    shutil.copytree(IVY / "local", tmp_path / "ivy" / "local")
    settings = {"spark.jars.ivy": str(tmp_path / "ivy")}
    assert "ROWS 100" in submit("round_trip.py", [str(tmp_path / "t")], settings, options=_packages())


def test_the_connector_resolves_from_a_maven_repository(tmp_path: Path) -> None:
    settings = {"spark.jars.ivy": str(tmp_path / "ivy"), "spark.jars.repositories": MAVEN.as_uri()}
    assert "ROWS 100" in submit("round_trip.py", [str(tmp_path / "t")], settings, options=_packages())
    resolved = [jar.name for jar in (tmp_path / "ivy" / "jars").iterdir()]
    assert resolved == [f"io.pmeparquet_{artifact()}-{VERSION}.jar"]


@pytest.mark.parametrize("line", ["3.5_2.12", "3.5_2.13", "4.0_2.13"])
def test_every_published_pom_names_no_dependency(line: str) -> None:
    name = f"pme-parquet-spark-{line}"
    pom = MAVEN / "io" / "pmeparquet" / name / VERSION / f"{name}-{VERSION}.pom"
    tags = [element.tag.rpartition("}")[2] for element in ET.parse(pom).iter()]  # noqa: S314 the build made it
    assert "artifactId" in tags
    assert "dependency" not in tags
