"""The Spark session of the tests: its jar, its settings, and the secrets in its environment."""

from __future__ import annotations

import os
import re
import tempfile
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
import pytest
from py4j.java_gateway import JavaPackage, JVMView
from pyspark.sql import SparkSession

import pme_parquet as pme
from tests.support import archive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ROOT = Path(__file__).resolve().parents[2]
VERSION = "0.1.0"
TEST_KMS = "io.pmeparquet.testkit.TestKms"

# Without the optimizing compiler the JVM keeps 48 MB for code, and thousands of generated classes do not fit. Most of
# what a test makes is short-lived, which costs least to collect in a large young generation.
JAVA_OPTIONS = f"{archive.OPTIONS} -XX:ReservedCodeCacheSize=240m"
DRIVER_OPTIONS = f"{JAVA_OPTIONS} -Xmn800m -XX:MetaspaceSize=300m"

# For jobs of many small statements, which take a fraction of the time if Spark does not compile them. `make test-all`
# compiles: only then does Spark's own Parquet source read in batches.
COMPILED = bool(os.environ.get("PME_TEST_ALL"))
INTERPRETED_EXPRESSIONS = {"spark.sql.codegen.factoryMode": "FALLBACK" if COMPILED else "NO_CODEGEN"}
INTERPRETED = {"spark.sql.codegen.wholeStage": str(COMPILED).lower(), **INTERPRETED_EXPRESSIONS}

# Spark notes each task, and describes each plan, for a user interface: the shared session has none.
WITHOUT_UI = {"spark.sql.ui.explainMode": "simple", "spark.ui.liveUpdate.period": "-1"}

PASSWORD_VARIABLE = "PME_TEST_PASSWORD"
PASSWORD = "correct-horse-3c1f"
# A keystore derives keys from its password, which is slow on purpose, and thousands of queries open one.
QUICK = f"-Dkeystore.pkcs12.keyPbeIterationCount=100 -Dkeystore.pkcs12.macIterationCount=100 {archive.QUICK}"
CLOUDS = ("AWS_", "AZURE_", "GOOGLE_", "IDENTITY_")
# SoftHSM looks for its settings here when it is loaded; tests/kms/test_pkcs11.py has written them by then.
SOFTHSM_CONF = Path(tempfile.gettempdir()) / f"pme-softhsm-{os.getpid()}.conf"
ALIASES = ["footer", "pii", "pay", "other"]

# What a session sets for all of our sources begins with this.
PREFIX = "spark.datasource.pme-parquet."
EXTENSION = "io.pmeparquet.spark.PmeExtensions"

SPARK_VERSION = tuple(int(part) for part in re.findall(r"\d+", pyspark.__version__)[:2])
# The newest Spark of `make test`; on Python 3.10 that is 4.2.
NEWEST = (4, 2)


def scala_version() -> str:
    """Return the Scala version of the installed PySpark, in the form of jar names."""
    [library] = (Path(pyspark.__file__).parent / "jars").glob("scala-library-*.jar")
    match = re.match(r"scala-library-(\d+\.\d+)", library.name)
    assert match, library.name
    return match.group(1)


def testkit_jar() -> Path:
    """Return the test-only jar that holds ``TestKms``."""
    jar = ROOT / "target" / "jars" / "testkit" / f"pme-parquet-testkit_{scala_version()}-{VERSION}.jar"
    assert jar.is_file(), f"{jar} is missing: run `make build` first"
    return jar


def kms_jars() -> list[Path]:
    """Return the jars of KMS clients, which work with every Scala version."""
    return sorted((ROOT / "target" / "jars" / "kms").glob(f"pme-parquet-kms-*-{VERSION}.jar"))


def session_settings(scratch: Path) -> dict[str, str]:
    """Return the settings that every test session shares; files that Spark leaves go under scratch."""
    # The whole suite can run with one reader; if this is unset, each test uses the format's default.
    reader = os.environ.get("PME_TEST_READER")
    chosen = {f"{PREFIX}reader": reader} if reader else {}
    # To compile small expressions takes longer than to run them. The newest Spark does it, as it does for users.
    if SPARK_VERSION < NEWEST:
        chosen |= INTERPRETED_EXPRESSIONS
    return chosen | {
        "spark.sql.extensions": EXTENSION,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": DRIVER_OPTIONS,
        "spark.executor.extraJavaOptions": JAVA_OPTIONS,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        # Most tests compile the same classes as others. By default a hundred of them are kept.
        "spark.sql.codegen.cache.maxEntries": "5000",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch / "local"),
        "spark.jars": ",".join(str(jar) for jar in [testkit_jar(), *kms_jars()]),
    }


def set_secrets() -> None:
    """Put the keystore's password and SoftHSM's settings where the JVM, a child process, finds them.

    There must be no credentials of clouds.
    """
    os.environ[PASSWORD_VARIABLE] = PASSWORD
    os.environ["PME_KEYSTORE_PASSWORD"] = "a long password"  # the one in the documents
    os.environ["SOFTHSM2_CONF"] = str(SOFTHSM_CONF)
    for name in [name for name in os.environ if name.startswith(CLOUDS)]:
        del os.environ[name]
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull


def created(store: pme.Keystore, names: Iterable[str]) -> pme.Keystore:
    """Create a keystore with keys in the quick way, and return it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", QUICK)
        return store.create(list(names))


def kms_settings(kms: pme.Keystore) -> dict[str, str]:
    """Return the settings with which a session itself names its KMS: a table of the catalog may not name it."""
    return {f"{PREFIX}{name}": value for name, value in kms.options().items()}


def builder(settings: Mapping[str, str], master: str = "local[2]") -> SparkSession.Builder:
    """Return a builder with our jar beside the testkit's."""
    remember_packages()
    made = SparkSession.builder.master(master).appName("pme-parquet tests")
    for name, value in settings.items():
        made = made.config(name, value)
    return pme.configure(made)


@cache
def remember_packages() -> None:
    """Ask the JVM once whether a part of a class's name is a class: it looks for it in each of three hundred jars."""
    known: set[str] = set()
    for kind in (JVMView, JavaPackage):
        kind.__getattr__ = _remembering(kind.__getattr__, known)


def _remembering(ask: Callable[[Any, str], Any], known: set[str]) -> Callable[[Any, str], Any]:
    def attribute(self: Any, name: str) -> Any:
        above, view = (f"{self._fqn}.", self._jvm_id) if isinstance(self, JavaPackage) else ("", self._id)
        if above + name in known:
            return JavaPackage(above + name, self._gateway_client, jvm_id=view)
        found = ask(self, name)
        if isinstance(found, JavaPackage) and name.islower():
            known.add(above + name)
        return found

    return attribute


def without_processes(session: SparkSession) -> None:
    """Let the JVM set permissions of files itself, and leave out defaults of Hadoop that no test reads.

    Hadoop would start a process for each permission, ten for a test.
    """
    jvm: Any = session._jvm
    jsc: Any = session.sparkContext._jsc
    jvm.io.pmeparquet.testkit.BriefConfiguration.shorten(jsc.hadoopConfiguration())
    jsc.hadoopConfiguration().set("fs.AbstractFileSystem.file.impl", "io.pmeparquet.testkit.QuickLocalFs")
    hadoop = jvm.org.apache.hadoop
    hadoop.fs.FileSystem.closeAll()
    conf = hadoop.conf.Configuration()
    conf.setClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    conf.set("fs.file.impl", "io.pmeparquet.testkit.QuickLocalFileSystem")
    # Hadoop keeps one instance for all later users of a local file system.
    hadoop.fs.FileSystem.get(jvm.java.net.URI("file:///"), conf)


def write_keys(work: Path, names: Iterable[str]) -> Path:
    """Write the file of a static KMS with these master keys into a directory, and return its path."""
    keys = work / "keys"
    keys.write_text("\n".join(f"{name}={b64encode(static_key(name)).decode()}" for name in names))
    return keys


def static_key(name: str) -> bytes:
    """Return the 16 bytes of a master key, which follow from its name."""
    return name.ljust(16).encode()
