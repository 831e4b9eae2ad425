"""Tables of a real Delta, in a session with our factory and our extension."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pme_parquet as pme
import pme_parquet.delta
from pme_parquet._checks.results import CheckFinding  # noqa: TC001 JSON is read by a result's annotations
from tests.support import needs
from tests.support.metastore import Outcome, Statements
from tests.support.processes import picked
from tests.support.session import (
    EXTENSION,
    INTERPRETED,
    ROOT,
    SPARK_VERSION,
    builder,
    session_settings,
    without_processes,
    write_keys,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

FILES = ROOT / "target" / "jars" / "delta" / ("" if SPARK_VERSION < (4, 0) else "{}.{}".format(*SPARK_VERSION))
CANARY = "canary-4711"
KEYS = "TBLPROPERTIES ('parquet.encryption.footer.key' = 'footer', 'parquet.encryption.column.keys' = 'pii: ssn, sick'"
SILENT = "'delta.dataSkippingStatsColumns' = 'id'"
FACTORY = "io.pmeparquet.parquet.PmeCryptoFactory"
FACTORY_NAME = "parquet.crypto.factory.class"
FOOTER_KEY_NAME = "pme-parquet.footerKey"
# Spark's own Parquet source, with our factory, then reads in batches.
COMPILING = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}


def session(work: Path, more: Mapping[str, str] | None = None, beside: Iterable[str] = ()) -> SparkSession:
    """Return a session with Delta, further settings, and jars beside Delta's."""
    common = session_settings(work)
    keys = write_keys(work, NAMES)
    jars = [common["spark.jars"], *map(str, sorted(FILES.glob("*.jar"))), *beside]
    spark = builder(
        common
        | {
            "spark.jars": ",".join(jars),
            "spark.sql.extensions": f"{EXTENSION},io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            f"spark.hadoop.{FACTORY_NAME}": FACTORY,
            "spark.hadoop.pme-parquet.kms": "static",
            "spark.hadoop.pme-parquet.kms.static.keys": f"file:{keys}",
            f"spark.hadoop.{FOOTER_KEY_NAME}": "footer",
            "spark.databricks.delta.snapshotPartitions": "1",
            **INTERPRETED,
            # Otherwise Spark plans a change of four rows anew after each stage. `make test-all` lets it.
            "spark.sql.adaptive.enabled": str(needs.ALL).lower(),
            # VACUUM lists files in as many tasks.
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
            "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:delta;create=true",
        }
        | dict(more or {})
    ).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    without_processes(spark)
    return spark


NAMES = ("footer", "pii")


@dataclass(frozen=True)
class Checked:
    """What `pme.delta.check` found."""

    ok: bool
    version: int | None
    live_by: str
    columns: tuple[str, ...]
    looked_at: dict[str, int]
    findings: tuple[CheckFinding, ...]

    @classmethod
    def of(cls, found: pme.delta.DeltaCheck) -> Checked:
        return picked(cls, found, looked_at=dict(found.looked_at))

    @property
    def kinds(self) -> list[tuple[str, str, str]]:
        return sorted({(one.severity, one.kind, one.column) for one in self.findings})


@dataclass(frozen=True)
class Emptied:
    """A table's files before a VACUUM, and what it deleted.

    Attributes:
        kinds: those of `delta_evolutions.KINDS` that were there.
        readable: files with a protected value.
        deleted: how many of each suffix.
    """

    kinds: list[str]
    readable: list[str]
    deleted: dict[str, int]


@dataclass(frozen=True)
class Result:
    """What came of a job's steps."""

    done: dict[str, Outcome]
    checks: dict[str, Checked]
    emptied: dict[str, Emptied]


@dataclass
class Job(Statements):
    """Statements on Delta tables."""

    checks: dict[str, Checked] = field(default_factory=dict)
    emptied: dict[str, Emptied] = field(default_factory=dict)

    def own(self, settings: Mapping[str, str] | None = None, spark: SparkSession | None = None) -> Job:
        """Return the job of another session, with settings."""
        made = replace(self, spark=spark or self.spark.newSession())
        for name, value in (settings or {}).items():
            made.spark.conf.set(name, value)
        return made

    def place(self, name: str) -> str:
        """Return the path of a table."""
        return str(self.work / "tables" / name)

    def table(self, name: str, properties: str = "") -> str:
        """Create a table of its own at a path, and return its name in SQL."""
        made = f"delta.`{self.place(name)}`"
        listed = f"{KEYS}, {SILENT}{properties})"
        self.sql(f"CREATE TABLE {made} (id LONG, ssn STRING, sick BOOLEAN, name STRING) USING delta {listed}")
        self.sql(f"INSERT INTO {made} SELECT id, concat('{CANARY}-', id), true, 'x' FROM range(0, 4, 1, 1)")
        return made

    def check(self, step: str, name: str, columns: list[str] | None = None, **more: Any) -> None:
        """Check a table with the session, and keep what is found."""
        self.checks[step] = Checked.of(pme.delta.check(self.place(name), columns, **({"spark": self.spark} | more)))


def new_table(job: Job, name: str) -> str:
    """Return the name in SQL of a table at a path."""
    return f"delta.`{job.work / 'tables' / name}`"


@contextmanager
def without_setting(spark: SparkSession, name: str) -> Iterator[SparkSession]:
    """Take a setting out of the configuration of all sessions, and yield a new session."""
    context: Any = spark.sparkContext
    conf = context._jsc.hadoopConfiguration()
    value = conf.get(name)
    conf.unset(name)
    try:
        yield spark.newSession()
    finally:
        conf.set(name, value)


@contextmanager
def without_factory(spark: SparkSession) -> Iterator[SparkSession]:
    """Let a new session write plaintext, which must have neither factory nor keys.

    An empty name of a factory is not none: parquet-java looks for that class.
    """
    context: Any = spark.sparkContext
    conf = context._jsc.hadoopConfiguration()
    prefix = "pme-parquet."
    names = [FACTORY_NAME, *(prefix + name for name in conf.getPropsWithPrefix(prefix))]
    values = {name: conf.get(name) for name in names}
    made = spark.newSession()
    for name in names:
        conf.unset(name)
        made.conf.unset(f"spark.hadoop.{name}")
    try:
        yield made
    finally:
        for name, value in values.items():
            conf.set(name, value)


def clear_logs(spark: SparkSession) -> None:
    """Forget the state of tables, as a new driver would."""
    session: Any = spark
    session._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def collected(spark: SparkSession, text: str) -> None:
    spark.sql(text).collect()
