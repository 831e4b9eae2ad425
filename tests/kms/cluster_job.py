"""A job on a cluster of processes on this machine, which keeps what came of each step and what Spark showed.

Run as ``python -m tests.kms.cluster_job DIRECTORY``, where the test put ``settings.json``, keys and the KMS client.
"""

from __future__ import annotations

import functools
import json
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.kms import secret_job
from tests.kms.access import read, rows
from tests.kms.heaps import HeapSearch
from tests.kms.ui import UI, UI_OF_EXECUTORS, UI_OF_QUERIES
from tests.support import needs
from tests.support.expect import DONE, condition, save
from tests.support.kms.clients import Client
from tests.support.kms.cluster_places import KEYS_VARIABLE, TOKEN_VARIABLE, ClusterResult, Places, Step
from tests.support.kms.counting import Log, Table, encryption, frame
from tests.support.processes import print_result
from tests.support.session import JAVA_OPTIONS, PASSWORD_VARIABLE, builder, kms_jars, session_settings
from tests.support.source import FORMAT, plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

FILES = 16 if needs.ALL else 6
# Columns with keys of their own, and files. `make test-all` has them all.
TABLES = [(columns, files) for columns in (3, 40) for files in (1, FILES, 200)] if needs.ALL else [(3, FILES)]
# The other steps read by pages of Spark's v1.
WAYS = [("v1", "spark"), ("v2", "pages"), *([("v1", "pages"), ("v2", "spark")] if needs.ALL else [])]
PAUSE = 500


def session(places: Places, settings: dict[str, str]) -> SparkSession:
    """Return a session on the cluster, with everything logged and no secret in the environment of executors."""
    logged = {
        f"spark.{who}.extraJavaOptions": f"{JAVA_OPTIONS} -Dlog4j2.configurationFile=file:{places.logging(who)}"
        for who in ("driver", "executor")
    }
    executors = settings.pop("executors")
    secret = (TOKEN_VARIABLE, KEYS_VARIABLE, PASSWORD_VARIABLE, *secret_job.VARIABLES)
    chosen = {
        **session_settings(places.work),
        **logged,
        "spark.jars": ",".join(map(str, [places.jar, *kms_jars()])),
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file:{places.events}",
        # Every executor is there before the first task, and gets some of the files.
        "spark.cores.max": executors,
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.sql.files.minPartitionNum": str(FILES),
        **{f"spark.executorEnv.{name}": "none" for name in secret},
        **settings,
    }
    return builder(chosen, chosen["spark.master"]).getOrCreate()


class Job:
    """Runs steps, and keeps what came of each."""

    def __init__(self, spark: SparkSession, places: Places) -> None:
        self.spark, self.places = spark, places
        self.steps: dict[str, Step] = {}
        self.client = Client()

    def step(self, name: str, action: Callable[[], bool | None]) -> None:
        began = time.monotonic()
        is_right, outcome, text = None, DONE, ""
        try:
            is_right = action()
        except Exception as error:  # noqa: BLE001 - the test checks the result
            outcome, text = condition(error), str(error)
        self.steps[name] = Step(is_right, outcome, text, time.monotonic() - began)

    def user(self, name: str, **settings: object) -> dict[str, str]:
        """Return the options of a user of the KMS, who has the token and whose calls have a log of this name."""
        token = {"parquet.encryption.key.access.token": str(pme.env(TOKEN_VARIABLE))}
        return Log(self.places.log(name)).options(**settings) | token

    def table(self, name: str, columns: int, files: int = FILES) -> Table:
        return Table(str(self.places.data / name), columns, files, Log(self.places.log(name)))

    def write(self, table: Table, options: dict[str, str]) -> None:
        save(frame(self.spark, table.columns, table.files), table.path, encryption(table.columns) | options)

    def reads(self, table: Table, options: dict[str, str], times: int = 1, *, given: bool = False) -> bool:
        """Say whether the table reads as it was written; its schema is given, or else inferred."""
        schema = frame(self.spark, table.columns, 1).schema
        reader = self.spark.read.format(FORMAT).options(**options)
        return all(
            rows((reader.schema(schema) if given else reader).load(table.path)) == table.rows() for _ in range(times)
        )

    def few(self) -> None:
        """Write a table whose data keys the test can find out, and read it in every way."""
        table = self.table("few", 3, 4)
        self.step("few", lambda: self.write(table, self.user("few") | {"keyMaterial": "external"}))
        for scan, reader in WAYS:
            name = f"few-{scan}-{reader}"
            options = self.user(name) | {"scan": scan, "reader": reader}
            self.step(name, functools.partial(self.reads, table, options))

    def counted(self, columns: int, files: int) -> None:
        """Write a table and read it, by a KMS that is quick and by one that is slow."""
        name = f"{columns}-{files}"
        table = self.table(f"write-{name}", columns, files)
        self.step(f"write-{name}", lambda: self.write(table, self.user(f"write-{name}")))
        for kind, settings in (("cold", {}), ("slow", {"pause_millis": PAUSE})):
            options = self.user(f"{kind}-{name}", **settings)
            self.step(f"{kind}-{name}", functools.partial(self.reads, table, options))

    def others(self) -> None:
        """Read once more, with other settings; and write and read with other settings, and with another KMS."""
        table = self.table(f"write-3-{FILES}", 3)
        self.step("given", lambda: self.reads(table, self.user("given"), given=True))
        self.step("twice", lambda: self.reads(table, self.user("twice"), times=2))
        self.step("merged", lambda: self.reads(table, self.user("merged") | {"mergeSchema": "true"}))
        itself = {"kms.callFrom": "executor"}
        self.step("executor", lambda: self.reads(table, self.user("executor") | itself, given=True))
        self.step("denied", lambda: self.reads(table, self.user("denied", deny="k1"), given=True))
        (self.places.work / "down").touch()
        down = self.user("down", down=self.places.work / "down", times_out=True)
        self.step("down", lambda: self.reads(table, down, given=True))
        single = self.table("single", 3)
        self.step("single", lambda: self.write(single, self.user("single") | {"doubleWrapping": "false"}))
        self.step("read-single", lambda: self.reads(single, self.user("read-single")))
        for name, kms in (("keystore", self.places.keystore()), ("static", self.places.static())):
            self.step(name, functools.partial(self.round_trip, name, kms.options()))
        python = pme.PythonKms(self.client).options()
        self.step("python", lambda: self.round_trip("python", python))

    def round_trip(self, name: str, options: dict[str, str]) -> bool:
        table = self.table(name, 3, 4)
        self.write(table, options | {"keyMaterial": "external"})
        return self.reads(table, options)

    def show(self) -> dict[str, int]:
        """Keep what Spark shows of the session, of plans and of executors, and what Linux shows of those.

        Return how many tasks each executor had.
        """
        context = self.spark.sparkContext
        found = "\n".join(f"{name}={value}" for name, value in context.getConf().getAll())
        listed = "\n".join(map(str, self.spark.sql("SET -v").collect()))
        explained = plan(read(self.spark, self.table("few", 3, 4).path, self.user("shown")).where("c1 > 'c'"))
        (self.places.shown / "settings.txt").write_text(f"{found}\n{listed}\n{explained}")
        for number, page in enumerate((*UI, UI_OF_QUERIES)):
            (self.places.shown / f"ui-{number}.txt").write_bytes(self.page(page))
        for process in self.places.processes(str(context.applicationId)):
            content = (process / "cmdline").read_bytes() + b"\n" + (process / "environ").read_bytes()
            (self.places.shown / f"executor-{process.name}.txt").write_bytes(content.replace(b"\0", b"\n"))
        return {executor["id"]: executor["totalTasks"] for executor in json.loads(self.page(UI_OF_EXECUTORS))}

    def page(self, path: str) -> bytes:
        context = self.spark.sparkContext
        url = f"{context.uiWebUrl}/{path.format(id=context.applicationId)}"
        straight = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with straight.open(url, timeout=60) as answer:
            content: bytes = answer.read()
        return content


def main(work: Path) -> None:
    """Run the steps that the test asks for."""
    places = Places(work)
    settings = json.loads((work / "settings.json").read_text())
    short = settings.pop("short")
    spark = session(places, settings)
    heaps = None
    try:
        job = Job(spark, places)
        job.few()
        if not short:
            for columns, files in TABLES:
                job.counted(columns, files)
            job.others()
            if places.secrets.exists():
                secret_job.run(spark, places.secrets)
                if sys.platform == "linux":
                    # At the end: nothing but time may remove the keys.
                    search = HeapSearch(spark, places)
                    search.use_keys()
                    heaps = search.found()
        tasks = job.show()
    finally:
        spark.stop()
    print_result(ClusterResult(job.steps, tasks, job.client.count("wrap"), job.client.count("unwrap"), heaps))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
