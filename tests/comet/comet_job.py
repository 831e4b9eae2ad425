"""Queries with Apache DataFusion Comet in the session, and the same without it.

Run as ``python -m tests.comet.comet_job DIRECTORY``.
"""

from __future__ import annotations

import base64
import re
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support import canary, metastore
from tests.support.frames import SIMPLE
from tests.support.processes import print_result
from tests.support.session import ROOT, builder, session_settings, without_processes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

FILES = ROOT / "target" / "jars" / "comet"
FACTORY = {"parquet.crypto.factory.class": "io.pmeparquet.parquet.PmeCryptoFactory"}
ON, CONVERT, SCAN = "spark.comet.enabled", "spark.comet.convert.parquet.enabled", "spark.comet.scan.enabled"
# Whether Comet writes Parquet itself, which it does only if incompatible results are allowed, too.
WRITE, INCOMPATIBLE = "spark.comet.write.parquet.enabled", "spark.comet.operator.WriteFilesExec.allowIncompatible"
CANARY = "canary-7"
NAMES = ("footer", "pii", "other")
QUERIES: dict[str, str] = {
    "all": "SELECT to_json(struct(*)) FROM {t}",
    "filter": "SELECT `bigint`, `string` FROM {t} WHERE `int` % 3 = 0 AND `string` > 'a' AND `array`[0] > 4",
    "aggregate": "SELECT `boolean`, count(*), sum(`double`), min(`date`), max(`timestamp`) FROM {t} GROUP BY `boolean`",
    "join": "SELECT a.`string`, b.struct.a FROM {t} a JOIN {t} b ON a.`int` = b.`int` WHERE b.`boolean`",
    "sort": "SELECT `string`, `binary` FROM {t} ORDER BY `double` DESC LIMIT 7",
    "count": "SELECT count(*) FROM {t}",
    "beside": "SELECT b.id, count(*), max(a.`string`) FROM beside b LEFT JOIN {t} a ON a.`int` = b.id GROUP BY b.id",
    "window": "SELECT `int`, lag(`string`) OVER (PARTITION BY `boolean` ORDER BY `int`) FROM {t}",
}


def session(work: Path) -> SparkSession:
    common = session_settings(work)
    jars = list(map(str, FILES.glob("*.jar")))
    made = builder(
        common
        | {
            "spark.jars": ",".join([common["spark.jars"], *jars]),
            # A plugin's class is loaded before `spark.jars` are.
            "spark.driver.extraClassPath": ":".join(jars),
            "spark.plugins": "org.apache.spark.CometPlugin",
            "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
            "spark.memory.offHeap.enabled": "true",
            "spark.memory.offHeap.size": "512m",
            INCOMPATIBLE: "true",
        }
    )
    spark = made.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    without_processes(spark)
    return spark


def rows(frame: DataFrame) -> list[str]:
    return sorted(repr(row.asDict(recursive=True)) for row in frame.collect())


def scans(frame: DataFrame) -> list[str]:
    """Return what the executed plan says of its scans and of Comet's operators."""
    found: Any = frame._jdf
    plan = found.queryExecution().executedPlan().toString().partition("== Initial Plan ==")[0]
    return sorted(set(re.findall(r"FileScan [\w-]+|Comet\w+(?: \[\w+\])?", plan)))


@dataclass(frozen=True)
class Compared:
    """Whether a query returned the same with Comet and without, how many rows, and what scanned."""

    is_same: bool
    rows: int
    with_comet: list[str]
    without: list[str]


@dataclass(frozen=True)
class Read:
    """What came of a read, and what scanned."""

    outcome: metastore.Outcome
    scans: list[str]


@dataclass(frozen=True)
class Written:
    """What came of a write, and whether a value can be read in the bytes of its files."""

    outcome: metastore.Outcome
    is_readable: bool


@dataclass(frozen=True)
class Result:
    """Queries by their names; reads by the scan and the case; reads that Comet converts; writes by what and by whom."""

    queries: dict[str, Compared]
    reads: dict[str, Read]
    converted: dict[str, metastore.Outcome]
    writes: dict[str, Written]


class Job:
    def __init__(self, work: Path) -> None:
        self.work, self.spark = work, session(work)
        self.queries: dict[str, Compared] = {}
        self.reads: dict[str, Read] = {}
        self.converted: dict[str, metastore.Outcome] = {}
        self.writes: dict[str, Written] = {}
        for name, padded in {"keys": str.ljust, "wrong": str.rjust}.items():
            pairs = (f"{key}={base64.b64encode(padded(key, 16).encode()).decode()}" for key in NAMES)
            (work / name).write_text("\n".join(pairs))
        self.kms = {"kms": "static", "kms.static.keys": f"file:{work / 'keys'}"}

    def both(self, step: str, text: str, table: str) -> None:
        """Run a query with Comet and without."""
        outcomes = []
        for on in ("false", "true"):
            self.spark.conf.set(ON, on)
            frame = self.spark.sql(text.format(t=table))
            outcomes.append((rows(frame), scans(frame)))
        [(expected, without), (found, with_comet)] = outcomes
        self.queries[step] = Compared(found == expected, len(found), with_comet, without)

    def sum(self, step: str, frame: DataFrame) -> None:
        """Read the rows that a filter leaves."""
        found = frame.where("id > 10 AND s > '3'").groupBy().agg({"d": "sum", "*": "count"})
        outcome = metastore.outcome(lambda: [repr(tuple(row)) for row in found.collect()])
        self.reads[step] = Read(outcome, scans(found) if outcome.rows else [])

    def ours(self, name: str, frame: DataFrame, **options: str) -> None:
        given = {"footerKey": "footer", "columnKeys": "pii: s"} | options
        frame.write.format("pme-parquet").options(**self.kms, **given).save(str(self.work / name))


def all_types(job: Job) -> None:
    """Query our format over every type, and try the same with scans that Comet converts."""
    columns = [f"{text} AS `{name}`" for name, text in SIMPLE.items()]
    frame = job.spark.range(0, 40, 1, 2).selectExpr(*columns)
    job.ours("types", frame, columnKeys="pii: string, struct, map")
    job.spark.read.format("pme-parquet").options(**job.kms).load(str(job.work / "types")).createTempView("types")
    job.spark.range(30).write.parquet(str(job.work / "beside"))
    job.spark.read.parquet(str(job.work / "beside")).createTempView("beside")
    for name, text in QUERIES.items():
        job.both(name, text, "types")
    job.spark.conf.set(CONVERT, "true")
    for name, text in QUERIES.items():
        job.converted[name] = metastore.outcome(partial(rows, job.spark.sql(text.format(t="types"))))
    job.spark.conf.set(CONVERT, "false")


def bent(place: Path) -> Iterator[Path]:
    for file in place.glob("*.parquet"):
        content = bytearray(file.read_bytes())
        content[len(content) // 4] ^= 1
        file.write_bytes(bytes(content))
        (place / f".{file.name}.crc").unlink(missing_ok=True)
        yield file


def checks(job: Job) -> None:
    """Read files that must be refused: with our format, and with Spark's own and our factory, by Comet and by Spark."""
    # Incompressible, so that the bytes in a quarter of a file are a page's.
    frame = job.spark.sql("SELECT id, sha2(string(id), 256) AS s, id * 1.5D AS d FROM range(0, 2000, 1, 1)")
    job.ours("right", frame)
    job.ours("other", frame, columnKeys="other: s")
    job.ours("prefixed", frame, aadPrefix="here")
    job.ours("ctr", frame, algorithm="AES_GCM_CTR_V1")
    job.ours("bent", frame)
    assert len(list(bent(job.work / "bent"))) == 1
    frame.write.parquet(str(job.work / "plain"))
    cases: dict[str, tuple[str, dict[str, str]]] = {
        "right": ("right", {}),
        "bound right": ("right", {"columnKeys": "pii: s", "footerKey": "footer"}),
        "bound other": ("other", {"columnKeys": "pii: s", "footerKey": "footer"}),
        "prefix": ("prefixed", {"aadPrefix": "here"}),
        "other prefix": ("prefixed", {"aadPrefix": "there"}),
        "ctr": ("ctr", {}),
        "wrong key": ("right", {"kms.static.keys": f"file:{job.work / 'wrong'}"}),
        "bent": ("bent", {}),
        "plain": ("plain", {}),
        "plain allowed": ("plain", {"plaintextFiles": "allow"}),
    }
    schema = "id LONG, s STRING, d DOUBLE"
    for name, (table, more) in cases.items():
        options = job.kms | more
        reader = job.spark.read.format("pme-parquet").options(**options).schema(schema)
        job.sum(f"ours {name}", reader.load(str(job.work / table)))
        own = FACTORY | {f"pme-parquet.{option}": value for option, value in options.items()}
        for scan, on in {"comet": "true", "off": "false"}.items():
            job.spark.conf.set(SCAN, on)
            spark_own = job.spark.read.format("parquet").options(**own).schema(schema)
            job.sum(f"{scan} {name}", spark_own.load(str(job.work / table)))
        job.spark.conf.set(SCAN, "true")


def writes(job: Job) -> None:
    """Write with each format, by Comet and by Spark."""
    job.spark.sql("SELECT id, concat('canary-', id) AS s FROM range(0, 40, 1, 1)").write.parquet(str(job.work / "seed"))
    frame = job.spark.read.parquet(str(job.work / "seed"))
    keys = job.kms | {"footerKey": "footer", "columnKeys": "pii: s"}
    kinds: dict[str, tuple[str, dict[str, str]]] = {
        "plain": ("parquet", {}),
        "ours": ("pme-parquet", keys),
        "orc": ("pme-orc", job.kms | {"columnKeys": "pii: s"}),
        "factory": ("parquet", FACTORY | {f"pme-parquet.{option}": value for option, value in keys.items()}),
    }
    for writer, on in {"comet": "true", "spark": "false"}.items():
        job.spark.conf.set(WRITE, on)
        for name, (source, options) in kinds.items():
            place = job.work / f"{writer} {name}"
            made = frame.write.format(source).options(compression="none", **options)
            done = metastore.outcome(partial(made.save, str(place)))
            found = b"".join(file.read_bytes() for file in canary.files_under(place))
            job.writes[f"{writer} {name}"] = Written(done, canary.needle(CANARY) in found)


def main() -> None:
    job = Job(Path(sys.argv[1]))
    all_types(job)
    checks(job)
    writes(job)
    job.spark.stop()
    print_result(Result(job.queries, job.reads, job.converted, job.writes))


if __name__ == "__main__":
    main()
