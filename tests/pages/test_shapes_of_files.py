"""Files of PyArrow and parquet-java in forms that we never write: other page versions, encodings and codecs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.support.errors import DONE, outcome
from tests.support.expect import refused
from tests.support.interop import arrow_files, modes
from tests.support.interop.cells import Table, arrow_table, spark_table
from tests.support.interop.modes import CTR, GCM, MODES
from tests.support.interop.samples import ARROW_SCHEMA, MAPS, spark_frame
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

pytestmark = pytest.mark.rows(2)

ROWS = 400
FACTORY = {"parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"}
SMALL_PAGES: dict[str, Any] = {"data_page_size": 100, "write_batch_size": 10}

versions = pytest.mark.parametrize("version", ["1.0", "2.0"])
vectorized = pytest.mark.parametrize("vectorized", ["true", "false"])

ENCODINGS = {
    "delta_binary_packed": {"id": "DELTA_BINARY_PACKED", "born": "DELTA_BINARY_PACKED", "seen": "DELTA_BINARY_PACKED"},
    "delta_byte_array": {
        "name": "DELTA_BYTE_ARRAY",
        "raw": "DELTA_BYTE_ARRAY",
        "tags.list.element": "DELTA_BYTE_ARRAY",
    },
    "delta_length_byte_array": {"note": "DELTA_LENGTH_BYTE_ARRAY", "address.street": "DELTA_LENGTH_BYTE_ARRAY"},
    "byte_stream_split_of_doubles": {"ratio": "BYTE_STREAM_SPLIT"},
    "byte_stream_split_of_integers": {"id": "BYTE_STREAM_SPLIT", "born": "BYTE_STREAM_SPLIT"},
    "byte_stream_split_of_decimals": {"salary": "BYTE_STREAM_SPLIT"},
    "runs_of_booleans": {"active": "RLE"},
    "plain": {"id": "PLAIN"},
}

LAYOUTS: dict[str, dict[str, Any]] = {
    "as_it_comes": {},
    "small_pages": SMALL_PAGES,
    "page_index": {"write_page_index": True, **SMALL_PAGES},
    "checksums": {"write_page_checksum": True, **SMALL_PAGES},
    "index_and_checksums": {"write_page_index": True, "write_page_checksum": True, **SMALL_PAGES},
    "no_dictionary": {"use_dictionary": False, **SMALL_PAGES},
    "dictionary_given_up": {"dictionary_pagesize_limit": 60, "write_page_index": True, **SMALL_PAGES},
    "no_statistics": {"write_statistics": False, **SMALL_PAGES},
    "decimals_as_integers": {"store_decimal_as_integer": True, **SMALL_PAGES},
    "int96": {"use_deprecated_int96_timestamps": True, **SMALL_PAGES},
    "300_row_groups": {"row_group_size": 1, "rows": 300},
    "300_pages": {"data_page_size": 1, "write_batch_size": 10, "row_group_size": 3000, "rows": 3000},
    "300_pages_with_index": {
        "data_page_size": 1,
        "write_batch_size": 10,
        "row_group_size": 3000,
        "rows": 3000,
        "write_page_index": True,
    },
}

CONDITIONS = {
    "all": "true",
    "some": "id BETWEEN 150 AND 170 OR id = 7",
    "few_names": "name = 'name-3' AND id > 200",
    "nulls": "note IS NULL AND salary IS NOT NULL",
    "nested": "address.zip = 30 OR address.street IS NULL",
    "nothing": "id = -1",
}


def read(spark: SparkSession, path: Path, reader: str = "pages", **options: str) -> DataFrame:
    """Read through one of the readers."""
    given = {"kms": TEST_KMS, "algorithm": CTR, "reader": reader, **options}
    return spark.read.format("pme-parquet").options(**given).load(str(path))


def cells(frame: DataFrame) -> Table:
    return spark_table(frame, maps=[name for name in MAPS if name in frame.columns])


@versions
@vectorized
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_is_read(
    spark: SparkSession, conf: Conf, tmp_path: Path, layout: str, version: str, vectorized: str
) -> None:
    settings = dict(LAYOUTS[layout])
    rows = arrow_files.table(settings.pop("rows", ROWS))
    arrow_files.write(rows, tmp_path / "a.parquet", data_page_version=version, **settings)
    plain = spark.createDataFrame(_tuples(arrow_table(rows)), spark_frame(spark).schema)
    columns = [name for name in ARROW_SCHEMA.names if not _loses_count(layout, vectorized, name)]
    expected = arrow_table(rows.select(columns))
    with conf({"spark.sql.parquet.enableVectorizedReader": vectorized}):
        assert cells(read(spark, tmp_path).select(columns)) == expected
        # parquet-java cannot read the V2 pages that Arrow encrypts.
        if version == "1.0":
            assert cells(read(spark, tmp_path, "spark").select(columns)) == expected
        for condition in CONDITIONS.values():
            wanted = cells(plain.where(condition).select("id", "name", "tags"))
            assert cells(read(spark, tmp_path).where(condition).select("id", "name", "tags")) == wanted, condition


def _loses_count(layout: str, vectorized: str, column: str) -> bool:
    """Whether Spark's row reader fails on the column, also in plaintext: its leaves' pages end at different rows."""
    return layout.startswith("300_pages") and vectorized == "false" and column == "people"


@versions
@pytest.mark.parametrize("layout", ["300_pages", "300_pages_with_index"])
def test_pages_that_the_row_reader_cannot_read_fail_in_plaintext_too(
    spark: SparkSession, conf: Conf, tmp_path: Path, layout: str, version: str
) -> None:
    settings = dict(LAYOUTS[layout])
    rows = arrow_files.table(settings.pop("rows"))
    pq.write_table(rows, tmp_path / "plain.parquet", data_page_version=version, **settings)
    plain = spark.read.parquet(str(tmp_path))
    with conf({"spark.sql.parquet.enableVectorizedReader": "false"}):
        assert outcome(plain.select("people").collect) != DONE
        assert outcome(plain.drop("people").collect) == DONE


def _tuples(rows: Table) -> list[tuple[object, ...]]:
    """Return the cells as Spark takes them: maps as dicts."""
    return [
        tuple(dict(row[name]) if name in MAPS and row[name] is not None else row[name] for name in ARROW_SCHEMA.names)
        for row in rows
    ]


@versions
@vectorized
@pytest.mark.parametrize("name", ENCODINGS)
def test_encoding_is_read_where_spark_reads_it(
    spark: SparkSession, conf: Conf, tmp_path: Path, name: str, version: str, vectorized: str
) -> None:
    rows = arrow_files.table(ROWS)
    settings: dict[str, Any] = {
        "use_dictionary": False,
        "column_encoding": ENCODINGS[name],
        "data_page_version": version,
        **SMALL_PAGES,
    }
    (tmp_path / "ours").mkdir()
    arrow_files.write(rows, tmp_path / "ours" / "a.parquet", **settings)
    pq.write_table(rows, tmp_path / "plain.parquet", row_group_size=1000, **settings)
    plain = spark.read.parquet(str(tmp_path / "plain.parquet"))
    with conf({"spark.sql.parquet.enableVectorizedReader": vectorized}):
        if outcome(plain.collect) == DONE:
            assert cells(read(spark, tmp_path / "ours")) == arrow_table(rows)
            if version == "1.0":
                assert cells(read(spark, tmp_path / "ours", "spark")) == arrow_table(rows)
        else:
            with pytest.raises(Exception, match=r"(?i)encoding"):
                read(spark, tmp_path / "ours").collect()


@versions
@vectorized
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4"])
def test_codec_is_read(
    spark: SparkSession, conf: Conf, tmp_path: Path, codec: str, version: str, vectorized: str
) -> None:
    rows = arrow_files.table(ROWS)
    arrow_files.write(rows, tmp_path / "a.parquet", data_page_version=version, compression=codec, **SMALL_PAGES)
    with conf({"spark.sql.parquet.enableVectorizedReader": vectorized}):
        assert cells(read(spark, tmp_path)) == arrow_table(rows)
        if version == "1.0":
            assert cells(read(spark, tmp_path, "spark")) == arrow_table(rows)


@versions
def test_brotli_without_its_library_is_reported(spark: SparkSession, tmp_path: Path, version: str) -> None:
    """PySpark contains no library for Brotli."""
    arrow_files.write(arrow_files.table(60), tmp_path / "a.parquet", data_page_version=version, compression="brotli")
    for reader in ("pages", "spark") if version == "1.0" else ("pages",):
        with pytest.raises(Exception, match=r"(?i)brotli") as caught:
            read(spark, tmp_path, reader).collect()
        assert "damaged" not in str(caught.value).splitlines()[0], "a file is whole whose library is missing"
        if isinstance(caught.value, pme.PmeError):
            assert caught.value.condition == "PME_UNSUPPORTED"


@versions
@pytest.mark.parametrize("algorithm", [GCM, CTR])
@pytest.mark.parametrize("columns", [["id"], ["tags", "scores", "people"], ["address", "salary", "active"]])
def test_some_columns_under_each_algorithm(
    spark: SparkSession, tmp_path: Path, algorithm: str, version: str, columns: list[str]
) -> None:
    rows = arrow_files.table(ROWS)
    settings: dict[str, Any] = {"data_page_version": version, "write_page_index": True, **SMALL_PAGES}
    arrow_files.write(rows, tmp_path / "a.parquet", algorithm, **settings)
    found = cells(read(spark, tmp_path).select("id", *[name for name in columns if name != "id"]))
    names = list(dict.fromkeys(["id", *columns]))
    assert found == [{name: row[name] for name in names} for row in arrow_table(rows)]


@versions
@vectorized
def test_a_file_without_rows(spark: SparkSession, conf: Conf, tmp_path: Path, version: str, vectorized: str) -> None:
    arrow_files.write(arrow_files.table(0), tmp_path / "a.parquet", data_page_version=version)
    with conf({"spark.sql.parquet.enableVectorizedReader": vectorized}):
        for reader in ("pages", "spark"):
            assert read(spark, tmp_path, reader).collect() == []
            assert read(spark, tmp_path, reader).where("id = 1").count() == 0
            assert read(spark, tmp_path, reader).columns == ARROW_SCHEMA.names


@versions
@vectorized
@pytest.mark.parametrize("indexed", [True, False])
def test_columns_that_are_all_null(
    spark: SparkSession, conf: Conf, tmp_path: Path, version: str, vectorized: str, *, indexed: bool
) -> None:
    rows = pa.table([pa.nulls(ROWS, field.type) for field in ARROW_SCHEMA], schema=ARROW_SCHEMA)
    settings: dict[str, Any] = {"data_page_version": version, "write_page_index": indexed, **SMALL_PAGES}
    arrow_files.write(rows, tmp_path / "a.parquet", **settings)
    with conf({"spark.sql.parquet.enableVectorizedReader": vectorized}):
        for reader in ("pages", "spark") if version == "1.0" else ("pages",):
            found = [tuple(row) for row in read(spark, tmp_path, reader).collect()]
            assert found == [(None,) * len(ARROW_SCHEMA.names)] * ROWS
            assert read(spark, tmp_path, reader).where("name IS NULL AND address.zip IS NULL").count() == ROWS
            assert read(spark, tmp_path, reader).where("name IS NOT NULL OR ratio > 0").count() == 0


@versions
@vectorized
def test_columns_without_nulls_that_are_declared_required(
    spark: SparkSession, conf: Conf, tmp_path: Path, version: str, vectorized: str
) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("t", pa.string(), nullable=False)])
    rows = pa.table([list(range(ROWS)), [f"t{i % 9}" for i in range(ROWS)]], schema=schema)
    arrow_files.write(rows, tmp_path / "a.parquet", data_page_version=version, **SMALL_PAGES)
    with conf({"spark.sql.parquet.enableVectorizedReader": vectorized}):
        assert cells(read(spark, tmp_path)) == arrow_table(rows)
        assert read(spark, tmp_path).where("t = 't3'").count() == len(range(3, ROWS, 9))


@versions
@vectorized
def test_checksums_of_pages_are_verified(
    spark: SparkSession, conf: Conf, tmp_path: Path, version: str, vectorized: str
) -> None:
    rows = arrow_files.table(ROWS)
    settings: dict[str, Any] = {"write_page_checksum": True, "write_page_index": True, **SMALL_PAGES}
    arrow_files.write(rows, tmp_path / "a.parquet", data_page_version=version, **settings)
    verify = {"parquet.page.verify-checksum.enabled": "true"}
    with conf({"spark.sql.parquet.enableVectorizedReader": vectorized}):
        assert cells(read(spark, tmp_path, **verify)) == arrow_table(rows)
        assert [row.id for row in read(spark, tmp_path, **verify).where("id = 333").collect()] == [333]


@pytest.mark.parametrize("algorithm", [GCM, CTR])
@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip"])
@vectorized
def test_v2_pages_of_parquet_java_take_clear_levels_allowed(
    spark: SparkSession, conf: Conf, target: str, algorithm: str, codec: str, vectorized: str
) -> None:
    properties = modes.java_properties(MODES[6]._replace(algorithm=algorithm), TEST_KMS)
    layout = {
        "parquet.writer.version": "v2",
        "parquet.page.row.count.limit": "10",
        "compression": codec,
        "parquet.page.write-checksum.enabled": "true",
    }
    spark_frame(spark).write.format("parquet").options(**FACTORY, **properties, **layout).save(target)
    frame = spark.read.format("pme-parquet").options(kms=TEST_KMS, algorithm=CTR, reader="pages")
    with conf({"spark.sql.parquet.enableVectorizedReader": vectorized}):
        with refused("PME_UNSUPPORTED", ".parquet", "clearLevels=allow"):
            frame.load(target).collect()
        allowed = frame.option("clearLevels", "allow").load(target)
        expected = cells(spark_frame(spark))
        assert cells(allowed) == expected
        some = [row for row in expected if row["name"] == "name-2" and row["id"] > 20]
        assert cells(allowed.where("name = 'name-2' AND id > 20")) == some
        nested = [row for row in expected if row["address"] is not None and row["address"]["zip"] == 33]
        assert cells(allowed.where("address.zip = 33")) == nested
