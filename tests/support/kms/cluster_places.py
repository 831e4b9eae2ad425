"""The files that a job on a local cluster needs and leaves, and how a test starts the job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

import pme_parquet as pme
from tests.support.canary import files_under
from tests.support.kms.counting import Log, column_keys, jar
from tests.support.processes import environment, of_json
from tests.support.session import PASSWORD, PASSWORD_VARIABLE, ROOT, created

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.support.processes import Result

TOKEN_VARIABLE, TOKEN = "PME_CLUSTER_TOKEN", "hvs.cluster-token-51d0"
KEYS_VARIABLE = "PME_CLUSTER_KEYS"
NAMES = ["footer", *column_keys(3)]

# The master keys of `kms=static`.
STATIC = {name: bytes((seed * 41 + at * 13) % 256 for at in range(16)) for seed, name in enumerate(NAMES, 1)}

LOGGING = """
rootLogger.level = debug
rootLogger.appenderRef.all.ref = all
appender.all.type = {appender}
appender.all.name = all
{place}
appender.all.layout.type = PatternLayout
appender.all.layout.pattern = %p %c: %m%n%ex
logger.ours.name = io.pmeparquet
logger.ours.level = trace
logger.parquet.name = org.apache.parquet
logger.parquet.level = trace
"""


@dataclass(frozen=True)
class Places:
    """The directory of a job."""

    work: Path

    @property
    def jar(self) -> Path:
        return self.work / "counting-kms.jar"

    @property
    def data(self) -> Path:
        return self.work / "data"

    @property
    def shown(self) -> Path:
        return self.work / "shown"

    @property
    def events(self) -> Path:
        return self.shown / "events"

    @property
    def home(self) -> Path:
        """A Spark home for this job only: executors have their directories in it."""
        return self.work / "home"

    @property
    def secrets(self) -> Path:
        """What `secret_job` needs, and its tables."""
        return self.work / "secrets"

    @property
    def versions(self) -> Path:
        """What a counting KMS reads its versions of master keys from."""
        return self.work / "versions"

    def make(self) -> None:
        """Make the directories, and the Spark home."""
        for directory in (self.events, self.home, self.log("any").parent):
            directory.mkdir(parents=True)
        for name in ("bin", "jars", "sbin"):
            (self.home / name).symlink_to(Path(pyspark.__file__).parent / name)

    def log(self, name: str) -> Path:
        return self.work / "calls" / f"{name}.log"

    def keystore(self) -> pme.Keystore:
        return pme.Keystore(str(self.work / "keys.p12"), password=pme.env(PASSWORD_VARIABLE))

    def static(self) -> pme.Static:
        return pme.Static(pme.env(KEYS_VARIABLE))

    def logging(self, who: str) -> Path:
        """Return a new configuration that logs everything: the driver to a file, executors where Spark does."""
        target = self.shown / "driver.log"
        places = {"driver": f"appender.all.fileName = {target}", "executor": "appender.all.target = SYSTEM_ERR"}
        properties = self.work / f"{who}-log4j2.properties"
        kind = "File" if who == "driver" else "Console"
        properties.write_text(LOGGING.format(appender=kind, place=places[who]))
        return properties

    def processes(self, application: str) -> Iterator[Path]:
        """Yield the directories in which Linux describes the executors of an application."""
        for command in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                content = command.read_bytes()
            except OSError:  # it has ended meanwhile
                continue
            if b"CoarseGrainedExecutorBackend" in content and application.encode() in content:
                yield command.parent


@dataclass(frozen=True)
class Heaps:
    """How many keys of each table were in live objects of the driver, and of all executors together."""

    driver: dict[str, int]
    executors: dict[str, int]


@dataclass(frozen=True)
class Step:
    """What came of a step.

    Attributes:
        is_right: whether it read what was written; None if it is no read.
        condition: that of its error, or `DONE`.
        text: that of its error.
    """

    is_right: bool | None
    condition: str
    text: str
    seconds: float


@dataclass(frozen=True)
class ClusterResult:
    """What came of the job.

    Attributes:
        tasks: how many each executor had, and the driver.
        wrapped, unwrapped: how often a client in Python was called for each master key.
        heaps: None if the job did not search them.
    """

    steps: dict[str, Step]
    tasks: dict[str, int]
    wrapped: dict[str, int]
    unwrapped: dict[str, int]
    heaps: Heaps | None


@dataclass(frozen=True)
class Cluster:
    """A finished job."""

    places: Places
    executors: int
    result: ClusterResult

    @property
    def steps(self) -> dict[str, Step]:
        return self.result.steps

    def calls(self, name: str) -> Log:
        return Log(self.places.log(name))

    def shown(self) -> dict[str, bytes]:
        """Return everything that Spark logged, printed or showed, from the driver and executors."""
        kept = [*files_under(self.places.shown), *files_under(self.places.home / "work")]
        named = {str(path.relative_to(self.places.work)): path for path in kept if path.suffix != ".jar"}
        return {name: path.read_bytes() for name, path in named.items()}


def run(
    work: Path,
    executors: int,
    memory: int,
    more: Mapping[str, str] | None = None,
    /,
    *,
    short: bool = False,
    **settings: str,
) -> Cluster:
    """Run the job in a process of its own, with settings like ``spark_authenticate="true"`` and more variables."""
    places = Places(work)
    places.make()
    jar(work)
    os.environ[PASSWORD_VARIABLE] = PASSWORD
    created(places.keystore(), NAMES)
    chosen = {name.replace("_", "."): value for name, value in settings.items()} | {
        "spark.master": f"local-cluster[{executors},1,{memory}]",
        "spark.executor.memory": f"{memory}m",
    }
    (work / "settings.json").write_text(json.dumps({"short": short, "executors": str(executors), **chosen}))
    return Cluster(places, executors, start("tests.kms.cluster_job", ClusterResult, places, more))


def start(module: str, result: type[Result], places: Places, more: Mapping[str, str] | None = None) -> Result:
    """Run a job, with the keys of `kms=static`, passwords and more in its environment, and return its result."""
    command, given = [sys.executable, "-m", module, str(places.work)], _environment(places) | dict(more or {})
    done = subprocess.run(command, env=given, capture_output=True, check=False, cwd=ROOT, timeout=900)
    (places.shown / "console.txt").write_bytes(done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
    return of_json(result, done.stdout.decode().splitlines()[-1])


def static_keys() -> str:
    """Return the secret of `kms=static`."""
    return "\n".join(f"{name}={b64encode(key).decode()}" for name, key in STATIC.items())


def _environment(places: Places) -> dict[str, str]:
    return environment() | {
        "SPARK_HOME": str(places.home),
        PASSWORD_VARIABLE: PASSWORD,
        TOKEN_VARIABLE: TOKEN,
        KEYS_VARIABLE: static_keys(),
    }
