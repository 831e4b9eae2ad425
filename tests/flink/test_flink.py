"""Tables of Flink's SQL as Parquet with our crypto factory: what Flink encrypts, and what it cannot read.

A local cluster of Flink runs the statements, with a Hadoop configuration that names factory and KMS. Spark reads the
files.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import pyspark
import pytest

import pme_parquet as pme
from tests.support import java, needs
from tests.support.canary import find_canaries
from tests.support.session import NEWEST, ROOT, write_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.slow,
    # Flink has 280 MB.
    needs.test_all,
    needs.spark(NEWEST, "the newest Spark has what Flink writes to read"),
]

SOURCE = Path(__file__).with_name("FlinkTables.java")
JARS = ROOT / "target" / "jars" / "flink"
# With Parquet 1.13, which our factory can serve, and with Parquet 1.15.
SERVED, NEWER = "1.20.1", "2.3.0"
# As in the configuration that Flink ships.
OPENED = ("java.lang", "java.net", "java.io", "java.nio", "java.text", "java.time", "java.util", "java.util.concurrent")
# What is on the class path besides Flink: Hadoop, and what our connector needs and Spark brings elsewhere.
OTHERS = ("hadoop-client-", "scala-library-", "jackson-core-2", "jackson-databind-2", "jackson-annotations-2")
FACTORY = {"parquet.crypto.factory.class": "io.pmeparquet.parquet.PmeCryptoFactory"}
NONE: dict[str, str] = {}
FOOTER = "'parquet.encryption.footer.key' = 'footer'"
OF_COLUMNS = f"{FOOTER}, 'parquet.encryption.column.keys' = 'pii: ssn'"
MODES = ("batch", "streaming")
TABLES = {"whole": "", "parts": "PARTITIONED BY (`day`)"}
# Tables whose keys say too little, by what refuses them.
REFUSED = {
    "keyless": ("", "PME_NO_KEY"),
    "absent": ("'parquet.encryption.footer.key' = 'absent'", "PME_KEY_NOT_FOUND"),
    "misspelt": (f"{FOOTER}, 'parquet.encryption.column.keys' = 'pii: sssn'", "PME_UNKNOWN_COLUMN"),
}
VALUES = "(1, 'canary-1', 'mon'), (2, 'canary-2', 'tue'), (3, CAST(NULL AS STRING), 'tue')"
ROWS = [(1, "canary-1", "mon"), (2, "canary-2", "tue"), (3, None, "tue")]
SHOWN = "+I[1, canary-1, mon];+I[2, canary-2, tue];+I[3, null, tue]"


class Flink:
    """A version of Flink that runs statements in processes of their own."""

    def __init__(self, work: Path, version: str) -> None:
        self.work = work
        self.jars = sorted((JARS / version).glob("*.jar"))
        assert self.jars, f"{JARS / version} is missing: make test-all fetches it"
        java.compile_to(work / "classes", SOURCE, against=self.jars)
        self.keys = write_keys(work, ("footer", "pii"))

    def place(self, name: str) -> Path:
        return self.work / "tables" / name

    def table(self, name: str, options: str = OF_COLUMNS, parts: str = "") -> str:
        """Return a statement that names a table of files."""
        given = f"'connector' = 'filesystem', 'path' = '{self.place(name).as_uri()}', 'format' = 'parquet'"
        columns = "id BIGINT, ssn STRING, `day` STRING"
        return f"CREATE TABLE {name} ({columns}) {parts} WITH ({', '.join(filter(None, [given, options]))})"

    def run(self, mode: str, *statements: str, settings: Mapping[str, str] = FACTORY) -> dict[str, str]:
        """Return what came of each statement; with no settings, the configuration has no KMS either."""
        kms = {"pme-parquet.kms": "static", "pme-parquet.kms.static.keys": f"file:{self.keys}"}
        conf = self.work / "conf"
        conf.mkdir(exist_ok=True)
        properties = "".join(
            f"<property><name>{name}</name><value>{escape(value)}</value></property>"
            for name, value in ({**kms, **settings} if settings else {}).items()
        )
        (conf / "core-site.xml").write_text(f"<configuration>{properties}</configuration>")
        (self.work / "statements").write_text("".join(f"{statement}\n" for statement in statements))
        spark = Path(pyspark.__file__).parent / "jars"
        others = [jar for jar in sorted(spark.glob("*.jar")) if jar.name.startswith(OTHERS)]
        path = os.pathsep.join(map(str, [self.work / "classes", conf, *self.jars, pme.jar_path(), *others]))
        opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED]
        quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        done = subprocess.run(
            [str(java.java()), *quick, *opened, "-cp", path, "FlinkTables", mode, str(self.work / "statements")],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return dict(zip(statements, done.stdout.splitlines(), strict=True))


def insert(name: str) -> str:
    return f"INSERT INTO {name} VALUES {VALUES}"


def select(name: str) -> str:
    return f"SELECT id, ssn, `day` FROM {name}"


@pytest.fixture(scope="module")
def flink(tmp_path_factory: pytest.TempPathFactory) -> Flink:
    return Flink(tmp_path_factory.mktemp("flink"), SERVED)


@pytest.fixture(scope="module")
def done(flink: Flink) -> dict[str, str]:
    """Return what came of writes and reads, in both modes."""
    found: dict[str, str] = {}
    for mode in MODES:
        names = {f"{mode}_{name}": parts for name, parts in TABLES.items()}
        made = [flink.table(name, parts=parts) for name, parts in names.items()]
        few = {f"{mode}_{name}": options for name, (options, _) in REFUSED.items()}
        made += [flink.table(name, options) for name, options in few.items()]
        found |= flink.run(mode, *made, *map(insert, [*names, *few]), *map(select, names))
    return found


def by_spark(spark: SparkSession, flink: Flink, name: str) -> list[tuple[object, ...]]:
    reader = spark.read.format("pme-parquet").options(**{"kms": "static", "kms.static.keys": f"file:{flink.keys}"})
    frame = reader.load(str(flink.place(name))).select("id", "ssn", "day")
    return sorted(tuple(row) for row in frame.collect())


def assert_encrypted(place: Path) -> None:
    files = [file for file in place.rglob("*") if file.is_file()]
    assert files
    assert {file.read_bytes()[-4:] for file in files} == {b"PARE"}
    assert find_canaries(place, ["canary-"]) == []


def assert_nothing_written(place: Path) -> None:
    assert sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) == 0


@pytest.mark.all_rows
@pytest.mark.newest
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TABLES)
def test_what_flink_writes_is_encrypted_and_spark_reads_it(
    flink: Flink, done: dict[str, str], spark: SparkSession, mode: str, name: str
) -> None:
    table = f"{mode}_{name}"
    assert done[insert(table)] == "written"
    assert_encrypted(flink.place(table))
    assert by_spark(spark, flink, table) == ROWS


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", REFUSED)
def test_a_write_whose_keys_say_too_little_fails_and_writes_nothing(
    flink: Flink, done: dict[str, str], mode: str, name: str
) -> None:
    table = f"{mode}_{name}"
    assert done[insert(table)].startswith("FAILED ")
    assert REFUSED[name][1] in done[insert(table)]
    assert_nothing_written(flink.place(table))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TABLES)
def test_flink_does_not_read_encrypted_files(done: dict[str, str], mode: str, name: str) -> None:
    failed = done[select(f"{mode}_{name}")]
    assert failed.startswith("FAILED ")
    assert "No keys available" in failed
    assert "canary" not in failed


def test_without_the_factory_flink_writes_plaintext_whatever_keys_its_table_names(flink: Flink) -> None:
    table = flink.table("unkept")
    found = flink.run("batch", table, insert("unkept"), select("unkept"), settings=NONE)
    assert (found[insert("unkept")], found[select("unkept")]) == ("written", SHOWN)
    assert find_canaries(flink.place("unkept"), ["canary-"]) != []


@pytest.mark.newest
def test_a_key_of_the_configuration_is_for_every_table(flink: Flink, spark: SparkSession) -> None:
    settings = {**FACTORY, "pme-parquet.footerKey": "footer"}
    done = flink.run("batch", flink.table("configured", ""), insert("configured"), settings=settings)
    assert done[insert("configured")] == "written"
    assert_encrypted(flink.place("configured"))
    assert by_spark(spark, flink, "configured") == ROWS


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Flink:
    return Flink(tmp_path_factory.mktemp("newer"), NEWER)


def test_flink_reads_plaintext_files_whatever_the_factory_would_say(flink: Flink, newer: Flink) -> None:
    table = flink.table("planted")
    flink.run("batch", table, insert("planted"), settings=NONE)
    for version in (flink, newer):
        assert version.run("batch", table, select("planted"))[select("planted")] == SHOWN


@pytest.mark.parametrize("mode", MODES)
def test_with_parquet_1_15_a_write_fails_and_writes_nothing(newer: Flink, mode: str) -> None:
    made = {f"{mode}_{name}": newer.table(f"{mode}_{name}", parts=parts) for name, parts in TABLES.items()}
    made |= {f"{mode}_{name}": newer.table(f"{mode}_{name}", options) for name, (options, _) in REFUSED.items()}
    done = newer.run(mode, *made.values(), *map(insert, made))
    for name in made:
        assert "Can not create a Path from a null string" in done[insert(name)], name
        assert_nothing_written(newer.place(name))


@pytest.mark.usefixtures("done")
def test_with_parquet_1_15_flink_does_not_read_encrypted_files_either(flink: Flink, newer: Flink) -> None:
    name = "batch_whole"
    failed = newer.run("batch", flink.table(name), select(name))[select(name)]
    assert "No keys available" in failed
    assert "canary" not in failed
