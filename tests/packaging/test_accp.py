"""The extra `accp`: what its wheel contains, and that a session uses Amazon's provider only then."""

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import pme_parquet as pme
from tests.packaging.places import ACCP_WHEEL, MAVEN, SPARK_HOME, artifact, fresh_python, install, run, submit
from tests.support import archive, needs
from tests.support.session import VERSION

pytestmark = pytest.mark.oldest

CLUSTER = {"spark.master": "local-cluster[1,1,1024]", "spark.executor.memory": "1g"} | archive.OF_EXECUTORS


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An environment with the wheel, without the extra."""
    yield str(fresh_python(tmp_path_factory.mktemp("fresh")))
    shutil.rmtree(SPARK_HOME / "work", ignore_errors=True)  # a cluster of SPARK_HOME keeps executors' folders here


@pytest.fixture(scope="module")
def python_with_extra(tmp_path_factory: pytest.TempPathFactory) -> str:
    home = fresh_python(tmp_path_factory.mktemp("extra"))
    install(home, "--find-links", str(ACCP_WHEEL.parent), f"pme-parquet[accp]=={pme.__version__}")
    return str(home)


def test_the_wheel_carries_amazons_jars_as_signed_and_the_licence() -> None:
    with zipfile.ZipFile(ACCP_WHEEL) as wheel:
        names = wheel.namelist()
        jars = [name for name in names if name.endswith(".jar")]
        for jar in jars:
            with wheel.open(jar) as content, zipfile.ZipFile(content) as opened:
                assert "META-INF/PROVIDER.RSA" in opened.namelist()
    kinds = sorted(Path(jar).name.partition("-linux-")[2] for jar in jars)
    assert kinds == ["aarch_64.jar", "x86_64.jar"]
    assert {Path(name).name for name in names} >= {"py.typed", "LICENSE", "NOTICE"}


# tests/packaging/test_cluster.py has executors with Amazon's provider.
@pytest.mark.nightly
@needs.accp
def test_with_the_extra_driver_and_executors_read_with_amazons_provider(python_with_extra: str, tmp_path: Path) -> None:
    printed = run("provider.py", [str(tmp_path / "t"), "configure"], CLUSTER, python_with_extra).splitlines()
    assert printed == ["AUTO AmazonCorrettoCryptoProvider", "SUM 4950", "NAMED 4950"]


@pytest.mark.nightly
def test_without_the_extra_the_jvms_own_provider_reads_and_amazons_is_refused(python: str, tmp_path: Path) -> None:
    printed = run("provider.py", [str(tmp_path / "t"), "configure"], CLUSTER, python).splitlines()
    assert printed[:2] == ["AUTO SunJCE", "SUM 4950"]
    assert printed[2].startswith("REFUSED PME_UNSUPPORTED ")
    assert "'AmazonCorrettoCryptoProvider'" in printed[2]


@pytest.mark.nightly
@needs.accp
def test_amazons_provider_resolves_from_its_coordinate_and_reads(tmp_path: Path) -> None:
    settings = CLUSTER | {
        "spark.jars.ivy": str(tmp_path / "ivy"),
        "spark.jars.repositories": MAVEN.as_uri(),
        # If a Maven repository there has one of Amazon's jars, Ivy does not look for the other elsewhere.
        "spark.driver.extraJavaOptions": f"-Duser.home={tmp_path}",
    }
    packages = [f"io.pmeparquet:{name}:{VERSION}" for name in (artifact(), "pme-parquet-accp")]
    options = ["--packages", ",".join(packages)]
    printed = submit("provider.py", [str(tmp_path / "t"), "plain"], settings, options=options).splitlines()
    # Ivy of Spark 3.5 prints a line first.
    assert printed[-3:] == ["AUTO AmazonCorrettoCryptoProvider", "SUM 4950", "NAMED 4950"]
    resolved = sorted(jar.name.partition("_")[2] for jar in (tmp_path / "ivy" / "jars").iterdir())
    assert [name.partition("-linux-")[2] for name in resolved if "-linux-" in name] == ["aarch_64.jar", "x86_64.jar"]
    ours = [f"{artifact()}-{VERSION}.jar", f"pme-parquet-accp-{VERSION}.jar"]
    assert [name for name in resolved if "-linux-" not in name] == sorted(ours)
