"""Files by Spark's own ``orc`` with ORC's memory provider open here, and ours open there, cell by cell."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.support import encrypted_orc as orc
from tests.support import java
from tests.support.encrypted_orc import (
    NESTED,
    PAY,
    PII,
    TURNED,
    VECTORIZED,
    read,
    read_by_spark,
    rows,
    save,
    save_by_spark,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

ROWS = 4_000
SMALL = {"orc.stripe.size": "65536", "orc.row.index.stride": "1000", "orc.dictionary.key.threshold": "0"}
# Of so few rows these make several stripes: ORC looks at the size of a stripe after so many.
SMALLER = SMALL | {"orc.rows.between.memory.checks": "1000"}
SOURCE = Path(__file__).with_name("CountedReads.java")
PUSH_DOWN = "spark.sql.orc.filterPushdown"

every_codec = pytest.mark.parametrize("codec", orc.CODECS)


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> dict[str, DataFrame]:
    """Return a frame of many rows in one file, and one of every type."""
    many = spark.range(0, ROWS, 1, 1).selectExpr(
        "id",
        "concat('ssn-', sha2(CAST(id AS STRING), 256)) AS ssn",
        "id * 1.5D AS salary",
        "named_struct('a', id, 'b', array(id, id + 1)) AS s",
        "map(concat('k', id % 3), named_struct('x', id, 'y', IF(id % 5 = 0, NULL, id))) AS m",
    )
    return {"many": many, "types": orc.every_type(spark)}


@pytest.fixture(scope="module")
def expected(
    spark: SparkSession, frames: dict[str, DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], list[str]]:
    """Return what gives the rows of a frame as Spark's ``orc`` reads them from a file without encryption."""
    root = tmp_path_factory.mktemp("plain")

    @functools.cache
    def of(name: str) -> list[str]:
        frames[name].write.format("orc").save(str(root / name))
        return rows(spark.read.format("orc").load(str(root / name)))

    return of


def protection(frame: DataFrame) -> dict[str, list[str]]:
    """Return keys of columns: those of nested ones have nothing to do with those of their neighbours."""
    if "ssn" in frame.columns:
        return {PII: ["ssn", "s.b", "m._value.x"], PAY: ["salary"]}
    return orc.alternating(frame.columns[1:])


def by_name_of_spark(keys: dict[str, list[str]]) -> dict[str, list[str]]:
    return {key: [column.replace("._value", ".value") for column in columns] for key, columns in keys.items()}


@every_codec
@pytest.mark.parametrize("name", ["many", "types"])
def test_each_opens_what_the_other_wrote(
    spark: SparkSession,
    conf: Conf,
    owner: dict[str, str],
    frames: dict[str, DataFrame],
    expected: Callable[[str], list[str]],
    tmp_path: Path,
    codec: str,
    name: str,
) -> None:
    frame, keys = frames[name], protection(frames[name])
    theirs, ours = str(tmp_path / "theirs"), str(tmp_path / "ours")
    save_by_spark(frame, theirs, orc.encrypt(keys), compression=codec, **SMALLER)
    save(frame, ours, owner, columnKeys=orc.text(by_name_of_spark(keys)), compression=codec, **SMALLER)
    for path in (theirs, ours):
        [file] = orc.files(path)
        reader = orc.reader(spark, file)
        assert str(reader.getCompressionKind().name()).lower() == codec
        assert {key.getKeyName() for key in reader.getColumnEncryptionKeys()} == {PII, PAY}
        assert name == "types" or len(reader.getStripes()) > 2
    assert rows(read_by_spark(spark, ours)) == expected(name)
    for vectorized in ("true", "false"):
        with conf({VECTORIZED: vectorized, NESTED: vectorized}):
            assert rows(read(spark, theirs, owner)) == expected(name)
            assert rows(read(spark, ours, owner)) == expected(name)


def test_our_provider_serves_spark_s_own_format(
    spark: SparkSession, conf: Conf, owner: dict[str, str], people: DataFrame, target: str
) -> None:
    ours = {"orc.key.provider": "pme"}
    with conf({f"spark.datasource.pme-parquet.{name}": value for name, value in owner.items()}):
        people.write.format("orc").options(**ours, **{"orc.encrypt": f"{PII}:ssn,address;{PAY}:salary"}).save(target)
        assert rows(spark.read.format("orc").options(**ours).load(target)) == rows(people)
    assert rows(read_by_spark(spark, target)) == rows(read(spark, target, owner)) == rows(people)


def test_files_under_several_versions_of_a_key_are_one_table(
    spark: SparkSession, owner: dict[str, str], people: DataFrame, target: str, tmp_path: Path
) -> None:
    save_by_spark(people, target, f"{TURNED}:ssn")
    for key in (TURNED, f"{TURNED}@2"):
        people.write.format("pme-orc").options(**owner, columnKeys=f"{key}: ssn").mode("append").save(target)
    assert rows(read(spark, target, owner)) == sorted(rows(people) * 3)
    assert rows(read_by_spark(spark, target)) == sorted(rows(people) * 3)
    few = orc.static(tmp_path / "few", [PII])
    assert read(spark, target, few).select("id").count() == 3 * people.count()


def test_char_and_varchar_columns_of_a_table_come_back_as_with_spark_s_own_format(
    spark: SparkSession, conf: Conf, owner: dict[str, str], tmp_path: Path
) -> None:
    found = []
    session = {f"spark.datasource.pme-parquet.{key}": value for key, value in owner.items()}
    for using, options in (("orc", ""), ("pme-orc", f"OPTIONS (columnKeys '{PII}: c; {PAY}: v')")):
        name, target = f"orc_{uuid4().hex[:8]}", str(tmp_path / using)
        columns = "id INT, c CHAR(6), v VARCHAR(4)"
        spark.sql(f"CREATE TABLE {name} ({columns}) USING `{using}` {options} LOCATION '{target}'")
        with conf(session):
            try:
                spark.sql(f"INSERT INTO {name} VALUES (1, 'ab', 'cd'), (2, NULL, '')")
                queries = (f"SELECT * FROM {name}", f"SELECT id FROM {name} WHERE c = 'ab'")
                schemas = {str(orc.reader(spark, file).getSchema()) for file in orc.files(target)}
                found.append(([rows(spark.sql(query)) for query in queries], schemas))
            finally:
                spark.sql(f"DROP TABLE {name}")
    assert found[0] == found[1]
    assert found[0][0][1] == ["Row(id=1)"]


@pytest.mark.nightly
@pytest.mark.parametrize("push_down", ["true", "false"])
@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_partitions_and_merged_schemas_read_as_spark_reads_them(
    spark: SparkSession, conf: Conf, owner: dict[str, str], target: str, vectorized: str, push_down: str
) -> None:
    first = spark.range(0, 300, 1, 1).selectExpr("id", "concat('s', id) AS ssn", "id % 3 AS day")
    second = spark.range(300, 600, 1, 1).selectExpr("id", "id * 2 AS more", "concat('s', id) AS ssn", "id % 3 AS day")
    keys = {"columnKeys": f"{PII}: ssn"}
    first.write.format("pme-orc").options(**owner, **keys).partitionBy("day").save(target)
    writer = second.write.format("pme-orc").options(**owner, columnKeys=f"{PII}: ssn; {PAY}: more")
    writer.mode("append").partitionBy("day").save(target)
    with conf({VECTORIZED: vectorized, PUSH_DOWN: push_down}):
        ours = read(spark, target, owner, mergeSchema="true")
        theirs = spark.read.format("orc").options(**orc.MEMORY, mergeSchema="true").load(target)
        assert sorted(ours.columns) == sorted(theirs.columns) == ["day", "id", "more", "ssn"]
        for query in QUERIES:
            found = [rows(frame.select("id", "ssn", "more", "day").where(query)) for frame in (ours, theirs)]
            assert found[0] == found[1], query
            assert found[0], query
        grouped = [
            rows(frame.groupBy("day").agg({"more": "sum", "ssn": "max", "id": "count"})) for frame in (ours, theirs)
        ]
        assert grouped[0] == grouped[1]


QUERIES = [
    "ssn = 's17'",
    "ssn IN ('s1', 's301') OR more > 1100",
    "day = 1 AND ssn > 's5'",
    "more IS NULL AND ssn LIKE 's29%'",
    "NOT (ssn < 's9') AND id % 2 = 0",
]


def bytes_read(spark: SparkSession, frame: DataFrame) -> tuple[list[str], int]:
    """Return the rows of a frame, and how many bytes of files it took to read them."""
    jvm: Any = spark._jvm
    jvm.CountedReads.read()
    found = rows(frame)
    return found, int(jvm.CountedReads.read())


@pytest.fixture(scope="module")
def counted(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what begins a path whose reads are counted."""
    java.load(spark, tmp_path_factory, SOURCE)
    spark.sparkContext._jsc.hadoopConfiguration().set("fs.counted.impl", "CountedReads")
    return "counted://"


def test_encrypted_statistics_skip_stripes_and_row_groups(
    spark: SparkSession, conf: Conf, owner: dict[str, str], target: str, counted: str
) -> None:
    ordered = spark.range(0, 100_000, 1, 1).selectExpr(
        "lpad(CAST(id AS STRING), 8, '0') AS ssn", "sha2(CAST(id AS STRING), 256) AS rest"
    )
    save(ordered, target, owner, columnKeys=f"{PII}: ssn; {PAY}: rest", **SMALL, compression="none")
    path = counted + target
    for number in (0, 54_321, 99_999):
        wanted = f"{number:08d}"
        pushed, few = bytes_read(spark, read(spark, path, owner).where(f"ssn = '{wanted}'"))
        with conf({PUSH_DOWN: "false"}):
            whole, all_of_them = bytes_read(spark, read(spark, path, owner).where(f"ssn = '{wanted}'"))
        assert pushed == whole
        assert len(pushed) == 1
        assert few * 4 < all_of_them, (few, all_of_them)
        # No more than Spark's own reader needs, but for the look at the file's tail and stripe footers.
        theirs, by_spark = bytes_read(spark, read_by_spark(spark, path).where(f"ssn = '{wanted}'"))
        assert theirs == pushed
        assert few < by_spark + LOOK, (few, by_spark)


# The tail is read once more, and a footer of some hundred bytes for each stripe.
LOOK = 200_000
