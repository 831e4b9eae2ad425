"""Where the build put what is shipped, and how a Spark of its own is started on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

import pme_parquet as pme
from tests.support.session import ROOT, VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

JOBS = Path(__file__).parent / "jobs"
WHEEL = ROOT / "target" / "wheel" / f"pme_parquet-{VERSION}-py3-none-any.whl"
IVY = ROOT / "target" / "ivy"
MAVEN = ROOT / "target" / "maven"

# The keys of the jobs: lines `name=base64key`. They are made up, and protect made-up rows.
KEYS_VARIABLE = "PME_PACKAGING_KEYS"
KEYS = "footer=MDEyMzQ1Njc4OTAxMjM0NQ==\npii=MTIzNDU2Nzg5MDEyMzQ1MA=="


def artifact() -> str:
    """The connector's artifact for the installed Spark, e.g. `pme-parquet-spark-4.0_2.13`."""
    return Path(pme.jar_path()).name.removesuffix(f"-{VERSION}.jar")


def submit(
    job: str,
    arguments: Sequence[str],
    settings: Mapping[str, str],
    python: str = sys.executable,
    options: Sequence[str] = (),
) -> str:
    """Runs a job with the installed PySpark's spark-submit, and gives what it printed; a failure shows Spark's log."""
    return submitted(job, arguments, settings, python, options).stdout


def submitted(
    job: str,
    arguments: Sequence[str],
    settings: Mapping[str, str],
    python: str = sys.executable,
    options: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """As `submit`, with Spark's log in `stderr`."""
    home = Path(pyspark.__file__).parent
    quiet = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
    }
    pairs = [part for name, value in {**quiet, **settings}.items() for part in ("--conf", f"{name}={value}")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    environment |= {"SPARK_HOME": str(home), "PYSPARK_PYTHON": python, KEYS_VARIABLE: KEYS}
    done = subprocess.run(
        [str(home / "bin" / "spark-submit"), *pairs, *options, str(JOBS / job), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done
