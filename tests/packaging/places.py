"""Where the build put the artifacts, and how to start a Spark of its own with them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
from packaging.requirements import Requirement

import pme_parquet as pme
from tests.support import archive
from tests.support.session import ROOT, VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

JOBS = Path(__file__).parent / "jobs"
SPARK_HOME = Path(pyspark.__file__).parent
WHEEL = ROOT / "target" / "wheel" / f"pme_parquet-{pme.__version__}-py3-none-any.whl"
ACCP_WHEEL = ROOT / "target" / "wheel" / f"pme_parquet_accp-{pme.__version__}-py3-none-any.whl"
IVY = ROOT / "target" / "ivy"
MAVEN = ROOT / "target" / "maven"

# The keys of the jobs: lines `name=base64key`. They are invented, and protect invented rows.
KEYS_VARIABLE = "PME_PACKAGING_KEYS"
KEYS = "footer=MDEyMzQ1Njc4OTAxMjM0NQ==\npii=MTIzNDU2Nzg5MDEyMzQ1MA=="


def artifact() -> str:
    """The connector's artifact for the installed Spark, e.g. `pme-parquet-spark-4.0_2.13`."""
    return Path(pme.jar_path()).name.removesuffix(f"-{VERSION}.jar")


def fresh_python(home: Path, *wheels: Path) -> Path:
    """A new virtual environment with wheels, and the running one's packages that the first one names, and PySpark."""
    # Its own pip would take longer to install than everything else.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    install(python, "--no-deps", *map(str, (WHEEL, *wheels)))
    [site] = home.glob("lib/python*/site-packages")
    [wheel] = Distribution.discover(name="pme-parquet", path=[str(site)])
    for needed in _needed(wheel, {"spark"}).values():
        for name in {file.parts[0] for file in needed.files or () if file.parts[0] not in {"..", "__pycache__"}}:
            if not (site / name).exists():
                (site / name).symlink_to(str(needed.locate_file(name)))
    return python


def _needed(wanted: Distribution, extras: set[str]) -> dict[str, Distribution]:
    """The packages that one requires, and what those require."""
    found: dict[str, Distribution] = {}
    for text in wanted.requires or ():
        one = Requirement(text)
        if not one.marker or any(one.marker.evaluate({"extra": extra}) for extra in extras or {""}):
            needed = distribution(one.name)
            found |= {one.name: needed} | _needed(needed, one.extras)
    return found


def install(python: Path, *arguments: str) -> None:
    """Installs packages into a virtual environment, without an index."""
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    subprocess.run([*pip, "install", "-q", "--no-index", *arguments], check=True)


def submit(
    job: str,
    arguments: Sequence[str],
    settings: Mapping[str, str],
    python: str = sys.executable,
    options: Sequence[str] = (),
) -> str:
    """Runs a job with the installed PySpark's spark-submit, and returns its output; a failure shows Spark's log."""
    return submitted(job, arguments, settings, python, options).stdout


def submitted(
    job: str,
    arguments: Sequence[str],
    settings: Mapping[str, str],
    python: str = sys.executable,
    options: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """As `submit`, with Spark's log in `stderr`."""
    command = [str(SPARK_HOME / "bin" / "spark-submit"), *_pairs(settings), *options, str(JOBS / job), *arguments]
    return _done(command, {"PYSPARK_PYTHON": python})


def run(job: str, arguments: Sequence[str], settings: Mapping[str, str], python: str) -> str:
    """Runs a job as a notebook runs: Python starts the JVM after the session is configured."""
    of_jvm = shlex.join([*_pairs(settings), "pyspark-shell"])
    environment = {"PYSPARK_PYTHON": python, "PYSPARK_SUBMIT_ARGS": of_jvm}
    return _done([python, str(JOBS / job), *arguments], environment).stdout


def _pairs(settings: Mapping[str, str]) -> list[str]:
    quiet = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
    }
    return [part for name, value in {**quiet, **settings}.items() for part in ("--conf", f"{name}={value}")]


def _done(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    given = {**kept, **archive.VARIABLES, "SPARK_HOME": str(SPARK_HOME), KEYS_VARIABLE: KEYS, **environment}
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done
