"""Installs a release as users do, and runs the quickstart, and projects of Scala and Java, with what that brings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from tests.packaging import bundle
from tests.packaging.places import artifact
from tests.support import archive, needs
from tests.support.markdown import ROOT, blocks
from tests.support.session import NEWEST

pytestmark = pytest.mark.nightly

PROJECTS = Path(__file__).parent / "projects"
SPARK = pyspark.__version__
SERVICES = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
# Where Maven keeps what it fetches: 200 MB.
LOCAL = ROOT / "target" / "tests" / "maven"
EXTRAS = "spark,accp,delta,iceberg"
# PySpark's newest version may be in no Maven repository. Projects have the Spark that the release was compiled against.
VERSIONS = (ROOT / "project" / "Versions.scala").read_text()
SPARKS = dict(re.findall(r'SparkLine\("(.+)", "(.+)"\)', VERSIONS))
SCALAS = {version.rpartition(".")[0]: version for version in re.findall(r'val scala\d+ = "(.+)"', VERSIONS)}
LINES = [("3.5", "2.12"), ("3.5", "2.13"), ("4.0", "2.13")]
# What Spark's launchers open to it.
OPENED = ("java.lang", "java.lang.invoke", "java.nio", "java.util", "sun.nio.ch", "sun.util.calendar")

once = needs.spark(NEWEST, "projects bring their own Spark")


def run(command: list[str], directory: Path, python: Path | None = None, **variables: str) -> str:
    """Run a user's command, and return what it prints; a failure shows all of it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_", "PME_"))}
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SUBMIT_OPTS": archive.QUICK, "PME_PARQUET_CONFIG": ""}
    own["PATH"] = os.pathsep.join([str((python or Path(sys.executable)).parent), os.environ["PATH"]])
    given = {**kept, **own, **variables}
    done = subprocess.run(command, cwd=directory, env=given, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout[-9000:] + done.stderr[-9000:]
    return done.stdout


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a Maven repository that has the release and nothing else."""
    return bundle.repository(tmp_path_factory.mktemp("central"))


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of a new environment with this Spark: wheels of the release, and the registry's packages."""
    home = tmp_path_factory.mktemp("clean") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    # PySpark has no wheel, so pip makes one.
    quick = ["--no-compile", "--config-settings=--build-option=--compression=stored"]
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "-q", *quick]
    wheels = ["--find-links", str(bundle.made() / "pypi")]
    wanted = [f"pme-parquet[{EXTRAS}]=={bundle.PYTHON_VERSION}", f"pyspark=={SPARK}"]
    run([*pip, *wheels, *wanted], home)
    return home / "bin" / "python"


@pytest.fixture
def typed(python: Path, tmp_path: Path) -> tuple[Path, str, str]:
    """Return a directory with the quickstart's keys and its program, and the commands that follow it."""
    create, *rest = [block for block in blocks(ROOT / "docs" / "quickstart.md") if not block.code.startswith("pip ")]
    (tmp_path / "quickstart.py").write_text("".join(block.code for block in rest if block.language == "python"))
    password = re.findall(r"PASSWORD='(.*)'", create.code)[0]
    run(["bash", "-euc", create.code], tmp_path, python)
    return tmp_path, "".join(block.code for block in rest if block.language == "bash"), password


def finish(typed: tuple[Path, str, str], python: Path, *command: str) -> str:
    """Run the quickstart's program and commands, and return what the program prints."""
    directory, commands, password = typed
    secret = {"PME_KEYSTORE_PASSWORD": password}
    printed = run([*command, "quickstart.py"], directory, python, **secret)
    assert "|  2|Grace|555-0102|" in printed
    assert "0 findings, " in printed
    shown = run(["bash", "-euc", commands], directory, python, **secret)
    assert 'no file has "Grace" in it' in shown
    assert "encrypted  AES_GCM_V1  footer: key 'footer'" in shown
    return printed


def test_the_quickstart_runs_after_pip_has_installed_the_wheels(typed: tuple[Path, str, str], python: Path) -> None:
    finish(typed, python, "python")
    assert bundle.PYTHON_VERSION in run(["pme-parquet", "--version"], typed[0], python)


def test_every_extra_is_installed_in_the_same_version_and_nothing_is_in_conflict(python: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    listed = run([*pip, "list", "--format=freeze"], python.parent).splitlines()
    assert {f"pme-parquet=={bundle.PYTHON_VERSION}", f"pme-parquet-accp=={bundle.PYTHON_VERSION}"} <= set(listed)
    assert {"deltalake", "fastavro", "pyspark"} <= {line.partition("==")[0] for line in listed}
    run([*pip, "check"], python.parent)


def test_the_quickstart_runs_with_the_jar_that_packages_finds(
    typed: tuple[Path, str, str], python: Path, repository: str
) -> None:
    ivy = typed[0] / "ivy"
    packages = ["--packages", f"io.pmeparquet:{artifact()}:{bundle.VERSION}", "--repositories", repository]
    with (typed[0] / "quickstart.py").open("a") as program:
        program.write("print('JARS', spark.sparkContext.getConf().get('spark.jars'))\n")
    printed = finish(typed, python, "spark-submit", *packages, "--conf", f"spark.jars.ivy={ivy}")
    [jar] = (ivy / "jars").iterdir()
    assert jar.name == f"io.pmeparquet_{artifact()}-{bundle.VERSION}.jar"
    # The wheel's jar is not beside it.
    assert re.findall("[^/]*pme-parquet-spark-[^/,]*", printed) == [jar.name]


@dataclass(frozen=True)
class Project:
    """A project that has been built: what it printed, its uber-jar, and the jars that are not in it."""

    printed: str
    jar: Path
    others: list[str]

    def run(self, jar: Path) -> str:
        """Run the program of an uber-jar."""
        opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED]
        places = os.pathsep.join([str(jar), *self.others])
        return run(["java", *archive.QUICK.split(), *opened, "-cp", places, "example.Main", "data"], jar.parent)


def succeeded(printed: str) -> bool:
    """Return whether the program of a project read what it wrote, and was refused without keys."""
    return bool(re.search(r"ROWS 4 4\n", printed) and re.search(r"REFUSED PME_\w+\n", printed))


def copied(name: str, to: Path) -> Path:
    """Return a copy of a project, with the KMS client that all have."""
    shutil.copytree(PROJECTS / name, to)
    shutil.copytree(PROJECTS / "sbt" / "src" / "main" / "java", to / "src" / "main" / "java", dirs_exist_ok=True)
    return to


def others(class_path: str) -> list[str]:
    """Return the jars of a class path that are not in an uber-jar."""
    jars = map(Path, class_path.strip().split(os.pathsep))
    return [str(jar) for jar in jars if not jar.name.startswith(("pme-parquet-", "spark-sql_"))]


@pytest.fixture(scope="module", params=LINES, ids="_".join)
def of_sbt(request: pytest.FixtureRequest, repository: str, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project of sbt that has run, and that has made an uber-jar."""
    line, scala = request.param
    project = copied("sbt", tmp_path_factory.mktemp("sbt") / "project")
    (project / "project").mkdir()
    for name in ("build.properties", "plugins.sbt"):
        shutil.copy(ROOT / "project" / name, project / "project")
    (project / "repositories").write_text("[repositories]\n  local\n  maven-central\n")
    given = {
        "release": repository,
        "line": line,
        "ours": bundle.VERSION,
        "spark": SPARKS[line],
        "scala": SCALAS[scala],
        "sbt.repository.config": str(project / "repositories"),
        "sbt.server.autostart": "false",
        "sbt.supershell": "false",
    }
    launcher = run([str(ROOT / "scripts" / "fetch-sbt")], ROOT).strip()
    sbt = ["java", *archive.QUICK.split(), *(f"-D{name}={value}" for name, value in given.items()), "-jar", launcher]
    printed = run([*sbt, "run before", "assembly", "export Compile / managedClasspath"], project)
    return Project(printed, next(project.glob("target/scala-*/uber.jar")), others(printed.splitlines()[-1]))


@once
def test_a_project_of_sbt_compiles_and_runs_with_the_release(of_sbt: Project) -> None:
    assert succeeded(of_sbt.printed)


@once
def test_an_uber_jar_keeps_all_data_sources(of_sbt: Project) -> None:
    assert succeeded(of_sbt.run(of_sbt.jar))


@once
def test_an_uber_jar_that_lost_a_service_file_fails_and_names_the_format(of_sbt: Project, tmp_path: Path) -> None:
    naive = tmp_path / "naive.jar"
    with zipfile.ZipFile(of_sbt.jar) as whole, zipfile.ZipFile(naive, "w") as content:
        for name in whole.namelist():
            kept = whole.read(name)
            if name == SERVICES:
                # As `MergeStrategy.first` does, which keeps one jar's file.
                kept = b"".join(line for line in kept.splitlines(keepends=True) if b"pmeparquet" not in line)
                assert kept
            content.writestr(name, kept)
    with pytest.raises(AssertionError, match=r"DATA_SOURCE_NOT_FOUND\].*: pme-parquet\."):
        of_sbt.run(naive)


@once
@needs.program("mvn", "Maven")
def test_maven_resolves_every_artifact_and_its_uber_jar_keeps_all_data_sources(repository: str, tmp_path: Path) -> None:
    project = copied("maven", tmp_path / "project")
    # Maven would take an earlier release of the same version.
    shutil.rmtree(LOCAL / "io" / "pmeparquet", ignore_errors=True)
    given = {"maven.repo.local": str(LOCAL), "release": repository, "ours": bundle.VERSION, "spark": SPARKS["4.0"]}
    maven = ["mvn", "-q", "-B", *(f"-D{name}={value}" for name, value in given.items())]
    run([*maven, "package", "dependency:build-classpath", "-Dmdep.outputFile=places"], project)
    assert len(list((LOCAL / "io" / "pmeparquet").iterdir())) == 6
    jar = project / "target" / "uber.jar"
    assert succeeded(Project("", jar, others((project / "places").read_text())).run(jar))
