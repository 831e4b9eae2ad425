"""`spark-submit --packages` finds the published connector, which needs nothing else, neither jars nor an extension."""

import json
import shutil
import xml.etree.ElementTree as ET
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.places import IVY, MAVEN, artifact, submit
from tests.support.session import INTERPRETED, VERSION

LINES = ["3.5_2.12", "3.5_2.13", "4.0_2.13"]
CLOUDS = ["aws", "gcp", "azure"]
ROWS = 100


@dataclass(frozen=True)
class Resolved:
    """What Spark resolved, and what a session without our extension did with that.

    Attributes:
        jars: their names.
        ways: the number of rows, or the condition of a refusal, for each way to read.
        clients: the KMS clients that were made.
    """

    jars: set[str]
    ways: dict[str, int | str]
    clients: list[str]


def resolved(directory: Path, names: list[str], *clouds: str, **settings: str) -> Resolved:
    """Return what came of a job with these artifacts."""
    given = {name.replace("_", "."): value for name, value in settings.items()} | {
        "spark.jars.ivy": str(directory / "ivy"),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        **INTERPRETED,
    }
    options = ["--packages", ",".join(f"io.pmeparquet:{name}:{VERSION}" for name in names)]
    printed = submit("packages.py", [str(directory), *clouds], given, options=options)
    # Ivy of Spark 3.5 prints a line first.
    done: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return Resolved({jar.name for jar in (directory / "ivy" / "jars").iterdir()}, done["ways"], done["clients"])


@pytest.fixture(scope="module")
def from_maven(tmp_path_factory: pytest.TempPathFactory) -> Resolved:
    """Return what came of the connector and all clients: of each, its repository has a jar and nothing else."""
    names = [artifact(), *(f"pme-parquet-kms-{cloud}" for cloud in CLOUDS)]
    return resolved(tmp_path_factory.mktemp("maven"), names, *CLOUDS, spark_jars_repositories=MAVEN.as_uri())


@pytest.mark.nightly
def test_the_connector_resolves_from_an_ivy_repository(tmp_path: Path) -> None:
    shutil.copytree(IVY / "local", tmp_path / "ivy" / "local")
    assert resolved(tmp_path, [artifact()]).ways["frame"] == ROWS


@pytest.mark.nightly
def test_the_connector_resolves_without_clients(tmp_path: Path) -> None:
    found = resolved(tmp_path, [artifact()], spark_jars_repositories=MAVEN.as_uri())
    assert found.ways["frame"] == ROWS
    assert found.jars == {f"io.pmeparquet_{artifact()}-{VERSION}.jar"}


def test_connector_and_kms_clients_resolve_from_a_maven_repository_and_need_nothing_else(from_maven: Resolved) -> None:
    assert from_maven.clients == ["AwsKmsClient", "GcpKmsClient", "AzureKmsClient"]
    names = (artifact(), *(f"pme-parquet-kms-{cloud}" for cloud in CLOUDS))
    assert from_maven.jars == {f"io.pmeparquet_{name}-{VERSION}.jar" for name in names}


def test_a_session_without_our_extension_reads_and_writes_and_trusts_no_stored_table(from_maven: Resolved) -> None:
    ways = dict(from_maven.ways)
    assert ways.pop("stored") == "PME_BAD_OPTION"
    assert ways.pop("saveAsTable") == 0
    assert ways == dict.fromkeys(ways, ROWS)
    assert len(ways) == 7


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
