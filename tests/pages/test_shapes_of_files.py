"""Files of PyArrow in forms that we never write: other page versions, encodings and codecs.

``jvm/spark`` has the files of parquet-java, in PageReaderSuite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.support import needs
from tests.support.expect import DONE, outcome
from tests.support.interop import arrow_files
from tests.support.interop.modes import CTR, GCM
from tests.support.interop.samples import ARROW_SCHEMA, MAPS, Table, arrow_table, spark_frame, spark_table
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

pytestmark = pytest.mark.rows(2)

ROWS, MOST_ROWS = 400, 3000
SMALL_PAGES: dict[str, Any] = {"data_page_size": 100, "write_batch_size": 10}

VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
VERIFY = {"parquet.page.verify-checksum.enabled": "true"}

# Each version of pages, read in batches and row by row.
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

# Those that parquet-java reads as well in `make test`: it decodes pages by itself.
FOR_JAVA = ("delta_byte_array", "plain")

LAYOUTS: dict[str, dict[str, Any]] = {
    "as_it_comes": {},
    **{codec: {"compression": codec, **SMALL_PAGES} for codec in ("none", "snappy", "gzip", "zstd", "lz4")},
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


def layouts_of(version: str) -> list[tuple[int, str, dict[str, Any]]]:
    """Return numbered layouts: each is read with one of the versions, a codec with both. `make test-all` reads all."""
    numbered = [(number, layout, settings) for number, (layout, settings) in enumerate(LAYOUTS.items())]
    turn = int(version == "2.0")
    return [one for one in numbered if needs.ALL or "compression" in one[2] or one[0] % 2 == turn]


CONDITIONS = [
    "id BETWEEN 150 AND 170 OR id = 7",
    "name = 'name-3' AND id > 200",
    "note IS NULL AND salary IS NOT NULL",
    "address.zip = 30 OR address.street IS NULL",
    "id = -1",
]


def read(spark: SparkSession, path: Path, reader: str = "pages", **options: str) -> DataFrame:
    """Read through one of the readers."""
    given = {"kms": TEST_KMS, "algorithm": CTR, "reader": reader, **options}
    return spark.read.format("pme-parquet").options(**given).load(str(path))


def cells(frame: DataFrame) -> Table:
    return spark_table(frame, maps=[name for name in MAPS if name in frame.columns])


@pytest.fixture(scope="module")
def plain(spark: SparkSession) -> DataFrame:
    """Return the rows of the largest file, without a file."""
    rows = arrow_table(arrow_files.table(MOST_ROWS))
    tuples = [
        tuple(dict(row[name]) if name in MAPS and row[name] is not None else row[name] for name in ARROW_SCHEMA.names)
        for row in rows
    ]
    return spark.createDataFrame(tuples, spark_frame(spark).schema).cache()


@versions
@vectorized
def test_layouts_are_read(
    spark: SparkSession, conf: Conf, tmp_path: Path, plain: DataFrame, version: str, vectorized: str
) -> None:
    for number, layout, settings in layouts_of(version):
        own = dict(settings)
        count = own.pop("rows", ROWS)
        rows = arrow_files.table(count)
        (tmp_path / layout).mkdir()
        arrow_files.write_layout(rows, tmp_path / layout / "a.parquet", data_page_version=version, **own)
        verify = VERIFY if "write_page_checksum" in settings else {}
        # One condition for each layout, or two.
        conditions = [CONDITIONS[(number + step) % len(CONDITIONS)] for step in ((0, 2) if needs.ALL else (0,))]
        lost = loses_count(layout, vectorized)
        with conf({VECTORIZED: vectorized}):
            frame = read(spark, tmp_path / layout, **verify).drop(*lost)
            names = [name for name in ARROW_SCHEMA.names if name not in lost]
            expected = arrow_table(rows.select(names))
            assert cells(frame) == expected, layout
            # parquet-java cannot read the V2 pages that Arrow encrypts. It decodes others by itself.
            if version == "1.0" and (needs.ALL or number % 4 == 0):
                assert cells(read(spark, tmp_path / layout, "spark", **verify).drop(*lost)) == expected, layout
            for condition in conditions:
                wanted = cells(plain.where(f"id < {count}").where(condition).select("id", "name", "tags"))
                assert cells(frame.where(condition).select("id", "name", "tags")) == wanted, (layout, condition)
            if lost:
                pq.write_table(rows, tmp_path / f"{layout}.parquet", data_page_version=version, **own)
                in_plaintext = spark.read.parquet(str(tmp_path / f"{layout}.parquet"))
                assert outcome(in_plaintext.select(*lost).collect) != DONE
                assert outcome(in_plaintext.drop(*lost).collect) == DONE


def loses_count(layout: str, vectorized: str) -> list[str]:
    """Return the column on which Spark's row reader fails, in plaintext, too: its leaves' pages end at other rows."""
    return ["people"] if layout.startswith("300_pages") and vectorized == "false" else []


@versions
@vectorized
def test_encodings_are_read_where_spark_reads_them(
    spark: SparkSession, conf: Conf, tmp_path: Path, version: str, vectorized: str
) -> None:
    rows = arrow_files.table(ROWS)
    for name, encoding in ENCODINGS.items():
        settings: dict[str, Any] = {
            "use_dictionary": False,
            "column_encoding": encoding,
            "data_page_version": version,
            **SMALL_PAGES,
        }
        (tmp_path / name).mkdir()
        arrow_files.write_layout(rows, tmp_path / name / "a.parquet", **settings)
        pq.write_table(rows, tmp_path / f"{name}.parquet", row_group_size=1000, **settings)
        plain = spark.read.parquet(str(tmp_path / f"{name}.parquet"))
        with conf({VECTORIZED: vectorized}):
            if outcome(plain.collect) == DONE:
                assert cells(read(spark, tmp_path / name)) == arrow_table(rows), name
                if version == "1.0" and (needs.ALL or name in FOR_JAVA):
                    assert cells(read(spark, tmp_path / name, "spark")) == arrow_table(rows), name
            else:
                with pytest.raises(Exception, match=r"(?i)encoding"):
                    read(spark, tmp_path / name).collect()


@pytest.mark.oldest
def test_brotli_without_its_library_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    """PySpark contains no library for Brotli."""
    for version, reader in (("1.0", "pages"), ("1.0", "spark"), ("2.0", "pages")):
        file = tmp_path / version / "a.parquet"
        file.parent.mkdir(exist_ok=True)
        arrow_files.write_layout(arrow_files.table(60), file, data_page_version=version, compression="brotli")
        with pytest.raises(Exception, match=r"(?i)brotli") as caught:
            read(spark, file.parent, reader).collect()
        assert "damaged" not in str(caught.value).splitlines()[0], "a file is whole whose library is missing"
        if isinstance(caught.value, pme.PmeError):
            assert caught.value.condition == "PME_UNSUPPORTED"


@versions
@vectorized
def test_no_rows_no_values_and_no_nulls_are_read(
    spark: SparkSession, conf: Conf, tmp_path: Path, version: str, vectorized: str
) -> None:
    def write(name: str, rows: pa.Table, **settings: Any) -> Path:
        (tmp_path / name).mkdir()
        arrow_files.write_layout(rows, tmp_path / name / "a.parquet", data_page_version=version, **settings)
        return tmp_path / name

    with conf({VECTORIZED: vectorized}):
        empty = write("empty", arrow_files.table(0))
        for reader in ("pages", "spark"):
            assert read(spark, empty, reader).collect() == []
            assert read(spark, empty, reader).where("id = 1").count() == 0
            assert read(spark, empty, reader).columns == ARROW_SCHEMA.names
        nulls = pa.table([pa.nulls(ROWS, field.type) for field in ARROW_SCHEMA], schema=ARROW_SCHEMA)
        for indexed in (True, False):
            nothing = write(f"nulls-{indexed}", nulls, write_page_index=indexed, **SMALL_PAGES)
            for reader in ("pages", "spark") if version == "1.0" else ("pages",):
                found = [tuple(row) for row in read(spark, nothing, reader).collect()]
                assert found == [(None,) * len(ARROW_SCHEMA.names)] * ROWS
                assert read(spark, nothing, reader).where("name IS NULL AND address.zip IS NULL").count() == ROWS
                assert read(spark, nothing, reader).where("name IS NOT NULL OR ratio > 0").count() == 0
        schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("t", pa.string(), nullable=False)])
        rows = pa.table([list(range(ROWS)), [f"t{i % 9}" for i in range(ROWS)]], schema=schema)
        required = write("required", rows, **SMALL_PAGES)
        assert cells(read(spark, required)) == arrow_table(rows)
        assert read(spark, required).where("t = 't3'").count() == len(range(3, ROWS, 9))


@versions
@pytest.mark.parametrize("algorithm", [GCM, CTR])
def test_some_columns_under_each_algorithm(spark: SparkSession, tmp_path: Path, algorithm: str, version: str) -> None:
    rows = arrow_files.table(ROWS)
    settings: dict[str, Any] = {"data_page_version": version, "write_page_index": True, **SMALL_PAGES}
    arrow_files.write_layout(rows, tmp_path / "a.parquet", algorithm, **settings)
    for columns in (["id"], ["id", "tags", "scores", "people"], ["id", "address", "salary", "active"]):
        found = cells(read(spark, tmp_path).select(columns))
        assert found == [{name: row[name] for name in columns} for row in arrow_table(rows)]
