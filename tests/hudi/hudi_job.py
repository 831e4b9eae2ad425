"""A job on tables of a real Hudi, in a session with our crypto factory.

Run as ``python -m tests.hudi.hudi_job DIRECTORY PART…``. The parts are functions. With the part ``leaks`` the session
does not have our extension, so that the tables with readable values can be written. It leaves the tables in the
directory.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.metastore import Outcome, Statements
from tests.support.processes import print_result
from tests.support.session import EXTENSION, ROOT, builder, session_settings, without_processes, write_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = ROOT / "target" / "jars" / "hudi"
FACTORY = "io.pmeparquet.parquet.PmeCryptoFactory"
HUDI = "org.apache.spark.sql.hudi.HoodieSparkSessionExtension"
CANARY, PARTITION = "canary-4711", "part-4711"
NO_STATISTICS = "hoodie.metadata.index.column.stats.enable"
NO_TABLE = "hoodie.metadata.enable"
NAMES = ("footer", "pii")


def session(work: Path, *, extension: bool) -> SparkSession:
    common = session_settings(work)
    keys = write_keys(work, NAMES)
    jars = [common["spark.jars"], *map(str, sorted(FILES.glob("*.jar")))]
    made = builder(
        common
        | {
            "spark.jars": ",".join(jars),
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
            "spark.hadoop.parquet.crypto.factory.class": FACTORY,
            "spark.hadoop.pme-parquet.kms": "static",
            "spark.hadoop.pme-parquet.kms.static.keys": f"file:{keys}",
            "spark.hadoop.pme-parquet.footerKey": "footer",
            "spark.hadoop.pme-parquet.columnKeys": "pii: ssn, id, _hoodie_record_key",
            "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:hudi;create=true",
        }
    )
    # `pme.configure` sets our extension.
    spark = made.config("spark.sql.extensions", f"{EXTENSION},{HUDI}" if extension else HUDI).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    without_processes(spark)
    return spark


@dataclass(frozen=True)
class Result:
    """What came of each step."""

    done: dict[str, Outcome]


class Job(Statements):
    """Statements on and writes of Hudi tables."""

    def rows(self, start: int, end: int, more: str = "") -> DataFrame:
        return self.spark.sql(
            f"SELECT concat('{CANARY}-key-', id) AS id, concat('{CANARY}-ssn-', id) AS ssn, 'x' AS name, id AS ts,"
            f" concat('{PARTITION}-', id % 2) AS part{more} FROM range({start}, {end}, 1, 1)"
        )

    def write(self, name: str, rows: DataFrame, operation: str = "upsert", **more: str) -> None:
        options = {
            "hoodie.table.name": name,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.partitionpath.field": "part",
            "hoodie.datasource.write.operation": operation,
            # So that a search finds what is readable.
            "hoodie.parquet.compression.codec": "uncompressed",
            **{f"hoodie.{kind}.shuffle.parallelism": "1" for kind in ("upsert", "insert", "bulkinsert", "delete")},
        }
        place = str(self.work / "tables" / name)
        rows.write.format("hudi").options(**options).options(**more).mode("append").save(place)

    def count(self, step: str, name: str, **options: str) -> None:
        """Keep the number of rows, all of which have a canary."""
        read = self.spark.read.format("hudi").options(**options)
        place = str(self.work / "tables" / name)
        self.attempt(step, lambda: [str(read.load(place).where(f"ssn LIKE '{CANARY}%'").count())])


# Few commits, so that the timeline is archived; with a metadata table, Hudi waits for its compaction.
SHORT = {
    NO_TABLE: "false",
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "4",
    "hoodie.clean.commits.retained": "1",
}


def recipe(job: Job) -> None:
    """Change a table in every way, with the settings of the document."""
    off = {NO_STATISTICS: "false"}

    def write(rows: DataFrame, operation: str = "upsert", **more: str) -> None:
        job.write("people", rows, operation, **off, **more)

    job.attempt("bulk_insert", lambda: write(job.rows(0, 10), "bulk_insert"))
    job.attempt("upsert", lambda: write(job.rows(5, 15)))
    job.attempt("delete", lambda: write(job.rows(0, 2), "delete"))
    evolved = {"hoodie.datasource.write.reconcile.schema": "true"}
    job.attempt("evolve", lambda: write(job.rows(15, 16, ", IF(id > 0, 'y', NULL) AS more"), **evolved))
    job.count("rows", "people")
    job.spark.sql(f"SET {NO_STATISTICS}=false")
    job.sql(f"CREATE TABLE people USING hudi LOCATION '{job.work / 'tables' / 'people'}'")
    commits = job.spark.sql("CALL show_commits(table => 'people', limit => 30)").collect()
    first = commits[-1][0]
    job.note("savepoint", f"CALL create_savepoint(table => 'people', commit_time => '{first}')")
    job.note("travel", f"SELECT count(*) FROM people TIMESTAMP AS OF '{first}'")
    since = {"hoodie.datasource.query.type": "incremental", "hoodie.datasource.read.begin.instanttime": first}
    job.count("incremental", "people", **since)
    job.note("update", f"UPDATE people SET name = 'z' WHERE ssn = '{CANARY}-ssn-3'")
    job.note("delete where", f"DELETE FROM people WHERE ssn = '{CANARY}-ssn-4'")
    job.note(
        "merge",
        f"MERGE INTO people t USING (SELECT '{CANARY}-key-5' AS id, '{CANARY}-ssn-5' AS ssn, 'm' AS name, 99L AS ts,"
        f" '{PARTITION}-1' AS part, 'y' AS more) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET *",
    )
    job.note("names", "SELECT name, count(*) FROM people GROUP BY name")
    clustered = off | {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
    job.attempt("cluster", lambda: job.write("clustered", job.rows(0, 10), "insert", **clustered))
    job.count("clustered", "clustered")
    for number in range(6):
        job.attempt(f"archive {number}", lambda: job.write("archived", job.rows(0, 4), **SHORT))
    job.count("archived", "archived")
    job.sql(
        "CREATE TABLE made (id STRING, ssn STRING, ts LONG) USING hudi TBLPROPERTIES "
        f"(primaryKey = 'id', preCombineField = 'ts') LOCATION '{job.work / 'tables' / 'made'}'"
    )
    job.note("insert", f"INSERT INTO made VALUES ('{CANARY}-key-1', '{CANARY}-ssn-1', 1)")
    streamed = job.rows(0, 4)
    source, target = str(job.work / "source"), str(job.work / "tables" / "streamed")
    plain = {"parquet.crypto.factory.class": FACTORY}
    streamed.write.format("parquet").options(**plain).option("pme-parquet.columnKeys", "pii: ssn, id").save(source)
    job.attempt("stream", lambda: stream(job, streamed, source, target, off))
    job.count("streamed", "streamed")


def stream(job: Job, rows: DataFrame, source: str, target: str, more: dict[str, str]) -> None:
    options = {
        "hoodie.table.name": "streamed",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "checkpointLocation": f"{target}-checkpoint",
    }
    reading = job.spark.readStream.schema(rows.schema).parquet(source)
    query = reading.writeStream.format("hudi").options(**options).options(**more)
    started = query.trigger(availableNow=True).start(target)
    started.awaitTermination(120)
    if started.exception():
        raise RuntimeError(str(started.exception()))


DANGEROUS: dict[str, dict[str, str]] = {
    "statistics": {},
    "merge_on_read": {"hoodie.datasource.write.table.type": "MERGE_ON_READ", NO_STATISTICS: "false"},
    "change_data": {"hoodie.table.cdc.enabled": "true", NO_TABLE: "false"},
    "orc": {"hoodie.table.base.file.format": "ORC", "hoodie.base.file.format": "ORC", NO_TABLE: "false"},
    "record_index": {NO_STATISTICS: "false", "hoodie.metadata.global.record.level.index.enable": "true"},
    "bloom_filters": {NO_STATISTICS: "false", "hoodie.metadata.index.bloom.filter.enable": "true"},
    "partition": {NO_STATISTICS: "false", "hoodie.datasource.write.partitionpath.field": "ssn"},
}


def leaks(job: Job) -> None:
    """Write every table that shows values, without our extension."""
    for name, more in DANGEROUS.items():
        job.attempt(name, partial(job.write, name, job.rows(0, 4), **more))
        if name in {"merge_on_read", "change_data"}:
            job.attempt(f"{name} again", partial(job.write, name, job.rows(0, 4), **more))


def refused(job: Job) -> None:
    """Try to write the same tables with our extension."""
    for name, more in DANGEROUS.items():
        job.attempt(f"frame {name}", partial(job.write, name, job.rows(0, 4), **more))
    rows = job.rows(0, 4)
    source = str(job.work / "source")
    job.attempt("frame stream", lambda: stream(job, rows, source, str(job.work / "tables" / "streaming"), {}))
    job.spark.conf.unset(NO_STATISTICS)
    columns = "(id STRING, ssn STRING, ts LONG) USING hudi TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts'"
    for name, stated in {"mor": "type = 'mor'", "cdc": "'hoodie.table.cdc.enabled' = 'true'"}.items():
        place = job.work / "tables" / f"sql_{name}"
        job.note(f"create {name}", f"CREATE TABLE {name} {columns}, {stated}) LOCATION '{place}'")
    place = job.work / "tables" / "cow"
    job.sql(f"CREATE TABLE cow {columns}) LOCATION '{place}'")
    row = f"'{CANARY}-key-1' AS id, '{CANARY}-ssn-1' AS ssn, 1L AS ts"
    job.note("sql insert", f"INSERT INTO cow SELECT {row}")
    job.note("sql ctas", f"CREATE TABLE ctas USING hudi TBLPROPERTIES (primaryKey = 'id') AS SELECT {row}")
    job.spark.conf.set(NO_STATISTICS.upper(), "false")
    job.note("sql letters", f"INSERT INTO cow SELECT {row}")
    job.spark.conf.unset(NO_STATISTICS.upper())
    job.spark.sql(f"SET {NO_STATISTICS}=false")
    job.note("inserted", f"INSERT INTO cow SELECT {row}", "SELECT count(*) FROM cow")
    job.spark.conf.unset(NO_STATISTICS)
    job.note("sql update", f"UPDATE cow SET ts = 2 WHERE ssn = '{CANARY}-ssn-1'")
    job.note("sql delete", f"DELETE FROM cow WHERE ssn = '{CANARY}-ssn-1'")
    job.note("sql merge", f"MERGE INTO cow t USING (SELECT {row}) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    job.note("sql overwrite", f"INSERT OVERWRITE cow SELECT {row}")
    job.note("sql index", "CREATE INDEX byssn ON cow USING column_stats(ssn) OPTIONS (expr = 'upper')")
    job.note("sql clustering", "CALL run_clustering(table => 'cow')")
    job.note("sql compaction", "CALL run_compaction(op => 'schedule', table => 'cow')")
    job.note("unharmed", "SELECT count(*) FROM cow")
    job.note("shown", "SHOW PARTITIONS cow")
    # A table that was made without our extension.
    old = job.work / "old" / "tables" / "merge_on_read"
    if old.is_dir():
        job.note("create old", f"CREATE TABLE old USING hudi LOCATION '{old}'")
        write = job.rows(0, 4).write.format("hudi").mode("append").option(NO_STATISTICS, "false")
        job.attempt("frame old", lambda: write.option("hoodie.table.name", "merge_on_read").save(str(old)))


JAVAS = {"parquet.encryption.footer.key": "footer", "parquet.encryption.column.keys": "pii: ssn, id"}
OURS = {"pme-parquet.footerKey": "footer", "pme-parquet.COLUMNkeys": "pii: ssn, id"}
KEYS = {
    "javas": JAVAS,
    "javas_complete": JAVAS | {"parquet.encryption.complete.columns": "true"},
    "letters": OURS | {"pme-parquet.UNLISTEDcolumns": "plaintext"},
    "letters_footer": OURS,
}


def keys(job: Job) -> None:
    """Name keys in other ways than the document does. Hudi asks the application's configuration."""
    context: Any = job.spark.sparkContext
    conf = context._jsc.hadoopConfiguration()
    set_before = {name: conf.get(name) for name in ("pme-parquet.footerKey", "pme-parquet.columnKeys")}
    for name in set_before:
        conf.unset(name)
    for name, settings in KEYS.items():
        for setting, value in settings.items():
            conf.set(setting, value)
        job.attempt(f"keys {name}", partial(job.write, name, job.rows(0, 4), **{NO_STATISTICS: "false"}))
        for setting in settings:
            conf.unset(setting)
    for name, value in set_before.items():
        conf.set(name, value)
    # The session says less than the application.
    job.spark.conf.set("pme-parquet.columnKeys", "pii: ssn, id, _hoodie_record_key")
    job.spark.conf.set("pme-parquet.unlistedColumns", "footerKey")
    conf.set("pme-parquet.columnKeys", "pii: ssn, id")
    conf.set("pme-parquet.unlistedColumns", "plaintext")
    job.attempt("keys session", partial(job.write, "of_session", job.rows(0, 4), **{NO_STATISTICS: "false"}))
    conf.unset("pme-parquet.unlistedColumns")
    conf.set("pme-parquet.columnKeys", set_before["pme-parquet.columnKeys"])
    job.spark.conf.unset("pme-parquet.columnKeys")
    job.spark.conf.unset("pme-parquet.unlistedColumns")
    conf.unset("parquet.crypto.factory.class")
    job.spark.conf.set("parquet.crypto.factory.class", FACTORY)
    job.attempt("keys factory", partial(job.write, "of_factory", job.rows(0, 4), **{NO_STATISTICS: "false"}))


PARTS = {"recipe": recipe, "leaks": leaks, "refused": refused, "keys": keys}


def main() -> None:
    work, parts = Path(sys.argv[1]), sys.argv[2:]
    # No file of this machine's may change what Hudi does.
    os.environ["HUDI_CONF_DIR"] = str(work)
    (work / "hudi-defaults.conf").touch()
    job = Job(session(work, extension="leaks" not in parts), work)
    for name in parts:
        PARTS[name](job)
    job.spark.stop()
    print_result(Result(job.done))


if __name__ == "__main__":
    main()
