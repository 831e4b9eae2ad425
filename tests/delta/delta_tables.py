"""Tables of a real Delta, in a session with our factory and our extension."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.support.metastore import Statements, said
from tests.support.session import (
    EXTENSION,
    ROOT,
    SPARK_VERSION,
    builder,
    session_settings,
    without_processes,
    write_keys,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

FILES = ROOT / "target" / "jars" / "delta" / ("" if SPARK_VERSION < (4, 0) else "{}.{}".format(*SPARK_VERSION))
CANARY = "canary-4711"
KEYS = "TBLPROPERTIES ('parquet.encryption.footer.key' = 'footer', 'parquet.encryption.column.keys' = 'pii: ssn, sick'"
SILENT = "'delta.dataSkippingStatsColumns' = 'id'"
FACTORY = "io.pmeparquet.parquet.PmeCryptoFactory"
FACTORY_NAME = "parquet.crypto.factory.class"
FOOTER_KEY_NAME = "pme-parquet.footerKey"


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


class Job(Statements):
    """Statements on Delta tables."""

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


def attempt(job: Job, step: str, what: Callable[[], object]) -> None:
    try:
        what()
        job.done[step] = "done"
    except Exception as error:  # noqa: BLE001 - any outcome is compared
        job.done[step] = said(error)
