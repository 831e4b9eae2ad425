"""Runs the doctor on faulty sessions, on a cluster of processes on this machine.

Run as ``python -m tests.doctor.cluster_job DIRECTORY``, where the test put the keystore.
"""

from __future__ import annotations

import shutil
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

import pme_parquet as pme
from tests.support.kms.cluster_places import Places
from tests.support.processes import print_result
from tests.support.session import session_settings
from tests.support.shown import forms

CLUSTER = "local-cluster[2,1,1024]"
COPY, MARKER = "someones-fat.jar", "org/apache/parquet/column/ColumnDescriptor.class"


@dataclass(frozen=True)
class Seen:
    """A diagnosis, and what a terminal, a notebook and others show of it."""

    diagnosis: pme.Diagnosis
    forms: dict[str, str]


@dataclass(frozen=True)
class Result:
    """What was seen of each session."""

    sessions: dict[str, Seen]


def fat_jar(work: Path) -> Path:
    """Return a jar with all of the connector, and a class of another Parquet."""
    made = work / COPY
    shutil.copy(pme.jar_path(), made)
    with zipfile.ZipFile(made, "a") as jar:
        jar.writestr(MARKER, b"")
        jar.writestr("META-INF/maven/org.apache.parquet/parquet-column/pom.properties", "version=1.10.1\n")
    return made


def session(work: Path, master: str, jars: str, more: dict[str, str]) -> SparkSession:
    """Return a session whose executors have these jars; the driver has those of the first session."""
    settings = session_settings(work) | {
        "spark.jars": jars,
        "spark.executor.memory": "1024m",
        "spark.cores.max": "2",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    }
    made = SparkSession.builder.master(master)
    for name, value in (settings | more).items():
        made = made.config(name, value)
    return made.getOrCreate()


def main(work: Path) -> None:
    """Check one session after the other."""
    places = Places(work)
    keys = places.keystore()
    enc = pme.Encryption(kms=keys, footer_key="footer")
    seen: dict[str, Seen] = {}

    def look(name: str, spark: SparkSession, options: dict[str, str] | None = None) -> None:
        diagnosis = pme.doctor(spark, enc, options=options)
        seen[name] = Seen(diagnosis, forms(diagnosis))

    session(work, "local[1]", f"{pme.jar_path()},{fat_jar(work)}", {}).stop()
    spark = session(work, CLUSTER, pme.jar_path(), {})
    look("doubtful", spark)
    look("executors ask", spark, {"kms.callFrom": "executor"})
    spark.stop()
    encrypted = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
    encrypted |= {"spark.network.crypto.cipher": "AES/GCM/NoPadding"}
    spark = session(work, CLUSTER, "", encrypted | {"spark.authenticate.secret": "between-these-processes"})
    look("without jars", spark)
    spark.stop()
    print_result(Result(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
