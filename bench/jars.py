"""Jars that PySpark does not contain: parquet-hadoop's tests with their mock KMS, and Amazon's JCE provider.

PySpark contains Ivy, which resolves them from Maven Central. `spark.jars.packages` cannot name a classifier.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pyspark

ROOT = Path(__file__).resolve().parents[1]
SPARK_JARS = Path(pyspark.__file__).parent / "jars"
TEST_KMS = "io.pmeparquet.testkit.TestKms"
MOCK_KMS = "org.apache.parquet.crypto.keytools.mocks.InMemoryKMS"

IVY = """\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="io.pmeparquet" module="bench"/>
  <dependencies>
    <dependency org="{group}" name="{name}" rev="{version}" transitive="false">
      <artifact name="{name}" type="jar" ext="jar" m:classifier="{classifier}"/>
    </dependency>
  </dependencies>
</ivy-module>
"""


class Artifact(NamedTuple):
    """A jar of a Maven repository."""

    group: str
    name: str
    version: str
    classifier: str


class MockKms(NamedTuple):
    """A KMS client for Spark's built-in encryption, and the jar it comes from."""

    name: str
    jar: Path


def mock_kms(directory: Path) -> MockKms:
    """Return parquet-java's mock KMS, or the tests' own if that does not resolve."""
    jar = resolve(Artifact("org.apache.parquet", "parquet-hadoop", parquet_version(), "tests"), directory)
    if jar is not None:
        return MockKms(MOCK_KMS, jar)
    found = sorted((ROOT / "target" / "jars" / "testkit").glob(f"pme-parquet-testkit_{scala_version()}-*.jar"))
    if not found:
        raise FileNotFoundError("parquet-hadoop's tests do not resolve, and there is no testkit: run `make build`.")
    return MockKms(TEST_KMS, found[-1])


def corretto(directory: Path) -> Path | None:
    """Return Amazon's JCE provider in the version that the build tests with, if there is one for this machine."""
    classifier = {"x86_64": "linux-x86_64", "aarch64": "linux-aarch_64"}.get(platform.machine())
    if platform.system() != "Linux" or classifier is None:
        return None
    version = re.search(r'val corretto = "(.+)"', (ROOT / "project" / "Versions.scala").read_text())
    if version is None:
        raise ValueError("project/Versions.scala names no version of Amazon's provider.")
    artifact = Artifact("software.amazon.cryptools", "AmazonCorrettoCryptoProvider", version[1], classifier)
    return resolve(artifact, directory)


def resolve(artifact: Artifact, directory: Path) -> Path | None:
    """Return the jar, fetched once; None if it cannot be fetched."""
    target = directory / f"{artifact.name}-{artifact.version}-{artifact.classifier}.jar"
    if target.is_file():
        return target
    directory.mkdir(parents=True, exist_ok=True)
    description = directory / "ivy.xml"
    description.write_text(IVY.format(**artifact._asdict()))
    home = directory / "ivy"
    pattern = directory / "[artifact]-[revision]-[classifier].[ext]"
    ivy = ["-cp", f"{SPARK_JARS}/*", "org.apache.ivy.Main", "-ivy", str(description), "-retrieve", str(pattern)]
    done = subprocess.run(
        [java(), f"-Divy.default.ivy.user.dir={home}", *ivy], check=False, capture_output=True, timeout=300
    )
    return target if done.returncode == 0 and target.is_file() else None


def java() -> str:
    """Return the path of ``java``."""
    found = shutil.which("java")
    if found is None:
        raise FileNotFoundError("JDK 17 is needed: there is no java on PATH.")
    return found


def parquet_version() -> str:
    """Return the version of Parquet in PySpark."""
    return version_in_name("parquet-hadoop")


def scala_version() -> str:
    """Return the Scala version of PySpark, in the form of jar names."""
    return ".".join(version_in_name("scala-library").split(".")[:2])


def version_in_name(library: str) -> str:
    """Return the version of one of Spark's jars."""
    [jar] = SPARK_JARS.glob(f"{library}-[0-9]*.jar")
    return jar.stem.removeprefix(f"{library}-")
