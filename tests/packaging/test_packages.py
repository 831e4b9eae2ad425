"""`spark-submit --packages` finds the published connector, which needs nothing else."""

import shutil
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pytest

from tests.packaging.places import IVY, MAVEN, artifact, submit
from tests.support.session import VERSION

pytestmark = pytest.mark.rows(1)

LINES = ["3.5_2.12", "3.5_2.13", "4.0_2.13"]
CLOUDS = ["aws", "gcp", "azure"]


def _packages() -> list[str]:
    return ["--packages", f"io.pmeparquet:{artifact()}:{VERSION}"]


@pytest.mark.nightly
def test_the_connector_resolves_from_an_ivy_repository(tmp_path: Path) -> None:
    shutil.copytree(IVY / "local", tmp_path / "ivy" / "local")
    settings = {"spark.jars.ivy": str(tmp_path / "ivy")}
    assert "ROWS 100" in submit("round_trip.py", [str(tmp_path / "t")], settings, options=_packages())


def test_the_connector_resolves_from_a_maven_repository(tmp_path: Path) -> None:
    settings = {"spark.jars.ivy": str(tmp_path / "ivy"), "spark.jars.repositories": MAVEN.as_uri()}
    assert "ROWS 100" in submit("round_trip.py", [str(tmp_path / "t")], settings, options=_packages())
    resolved = [jar.name for jar in (tmp_path / "ivy" / "jars").iterdir()]
    assert resolved == [f"io.pmeparquet_{artifact()}-{VERSION}.jar"]


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_kms_client_resolves_next_to_the_connector_and_needs_nothing_else(cloud: str, tmp_path: Path) -> None:
    settings = {"spark.jars.ivy": str(tmp_path / "ivy"), "spark.jars.repositories": MAVEN.as_uri()}
    client = f"pme-parquet-kms-{cloud}"
    options = ["--packages", f"{_packages()[1]},io.pmeparquet:{client}:{VERSION}"]
    assert "LOADED" in submit("kms_client.py", [cloud], settings, options=options)
    resolved = {jar.name for jar in (tmp_path / "ivy" / "jars").iterdir()}
    assert resolved == {f"io.pmeparquet_{name}-{VERSION}.jar" for name in (artifact(), client)}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_kms_client_jar_holds_only_its_own_packages_and_the_licences(cloud: str) -> None:
    name = f"pme-parquet-kms-{cloud}"
    with zipfile.ZipFile(MAVEN / "io" / "pmeparquet" / name / VERSION / f"{name}-{VERSION}.jar") as jar:
        files = [entry for entry in jar.namelist() if not entry.endswith("/")]
        services = [entry for entry in files if entry.startswith("META-INF/services/")]
        offered = "".join(jar.read(entry).decode() for entry in services)
    own = f"io/pmeparquet/kms/{cloud}/"
    assert not [entry for entry in files if not entry.startswith((own, "META-INF/"))]
    assert not [entry for entry in services if not entry.startswith(f"META-INF/services/io.pmeparquet.kms.{cloud}.")]
    assert not [line for line in offered.split() if not line.startswith(f"io.pmeparquet.kms.{cloud}.")]
    if any(entry.startswith(f"{own}shaded/") for entry in files):
        assert [entry for entry in files if entry.startswith("META-INF/") and "LICENSE" in entry]


@pytest.mark.parametrize(
    "name",
    [*(f"pme-parquet-spark-{line}" for line in LINES), *(f"pme-parquet-kms-{cloud}" for cloud in CLOUDS)],
)
def test_every_published_pom_names_no_dependency(name: str) -> None:
    pom = MAVEN / "io" / "pmeparquet" / name / VERSION / f"{name}-{VERSION}.pom"
    tags = [element.tag.rpartition("}")[2] for element in ET.parse(pom).iter()]  # noqa: S314 the build wrote it
    assert "artifactId" in tags
    assert "dependency" not in tags
