"""Parts of files that PyArrow writes and Spark does not: types of geometries, and Bloom filters."""

from __future__ import annotations

import shutil
import struct
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.support import needs
from tests.support.canary import data_files
from tests.support.expect import refused, untouched
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

CLOSED = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": "shape"})
OPEN = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": "shape"}, plaintext_footer=True)


class WellKnownBinary(pa.ExtensionType):  # type: ignore[misc] # PyArrow has no types
    """What GeoArrow calls the storage of GEOMETRY and, with spherical edges, GEOGRAPHY."""

    def __init__(self, metadata: bytes = b"{}") -> None:
        self.metadata = metadata
        super().__init__(pa.binary(), "geoarrow.wkb")

    def __arrow_ext_serialize__(self) -> bytes:
        return self.metadata

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: object, serialized: bytes) -> WellKnownBinary:
        return cls(serialized)


@pytest.fixture
def well_known_binary() -> Iterator[None]:
    pa.register_extension_type(WellKnownBinary())
    yield
    pa.unregister_extension_type("geoarrow.wkb")


def geometries(directory: Path, kind: str) -> tuple[Path, list[bytes]]:
    points = [struct.pack("<BIdd", 1, 1, 1.25 * i, -1.0 * i) for i in range(20)]
    edges = b'{"edges": "spherical"}' if kind == "Geography" else b"{}"
    shapes = pa.ExtensionArray.from_storage(WellKnownBinary(edges), pa.array(points, pa.binary()))
    directory.mkdir()
    file = directory / "a.parquet"
    pq.write_table(pa.table({"shape": shapes, "id": range(20)}), file, store_schema=False)
    assert kind in str(pq.ParquetFile(file).schema)
    return directory, points


@pytest.mark.newest
@needs.spark((4, 1), "the parquet-java of Spark 4.0 does not know these types")
@pytest.mark.usefixtures("well_known_binary")
@pytest.mark.parametrize("kind", ["Geometry", "Geography"])
def test_geometries_are_copied_whole_and_not_below_a_readable_footer(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    source, points = geometries(tmp_path / "plain", kind)
    pme.encrypt(spark, str(source), str(tmp_path / "encrypted"), CLOSED)
    encrypted, back = str(tmp_path / "encrypted"), str(tmp_path / "back")
    pme.decrypt(spark, encrypted, back, TEST_KMS, write_plaintext=True)
    before, after = (pq.ParquetFile(next(iter(data_files(path)))) for path in (source, tmp_path / "back"))
    assert after.schema.equals(before.schema)
    # Of a GEOGRAPHY, PyArrow writes none.
    boxes = [file.metadata.row_group(0).column(0).geo_statistics for file in (before, after)]
    assert (boxes[0] is not None) == (kind == "Geometry")
    assert boxes[0] == boxes[1] or boxes[0].to_dict() == boxes[1].to_dict()
    assert after.read()["shape"].to_pylist() == before.read()["shape"].to_pylist()
    [sealed] = data_files(tmp_path / "encrypted")
    assert points[7] not in sealed.read_bytes()
    with untouched(tmp_path), refused("PME_UNSUPPORTED", "geometries"):
        pme.encrypt(spark, str(source), str(tmp_path / "readable"), OPEN)


# The smallest and the largest value are the same in both row groups, so only a filter can skip one.
EVEN, ODD = [0, *range(2, 1000, 2), 1001], [0, *range(3, 1000, 2), 1001]


def by_pyarrow(directory: Path, table: pa.Table) -> None:
    options: dict[str, Any] = {"bloom_filter_options": {"id": {"ndv": 1000, "fpp": 0.001}}}
    pq.write_table(table, directory / "a.parquet", row_group_size=len(EVEN), use_dictionary=False, **options)


def by_parquet_rs(directory: Path, table: pa.Table) -> None:
    """As arrow-rs writes: each row group is followed by its filters."""
    bloom = deltalake.BloomFilterProperties(set_bloom_filter_enabled=True, fpp=0.001, ndv=1000)
    columns = deltalake.ColumnProperties(dictionary_enabled=False, bloom_filter_properties=bloom)
    properties = deltalake.WriterProperties(max_row_group_size=len(EVEN), default_column_properties=columns)
    deltalake.write_deltalake(directory, table, writer_properties=properties)
    shutil.rmtree(directory / "_delta_log")


def rows_scanned(frame: DataFrame) -> int:
    """Run the query and return how many rows its only scan gave to the rest of the plan."""
    frame.collect()
    leaves: Any = frame._jdf.queryExecution().executedPlan().collectLeaves()
    return int(leaves.apply(0).metrics().apply("numOutputRows").value())


@pytest.mark.parametrize("writer", [by_pyarrow, by_parquet_rs])
def test_a_bloom_filter_of_another_writer_finds_its_values_and_skips_others(
    spark: SparkSession, tmp_path: Path, writer: Callable[[Path, pa.Table], None]
) -> None:
    source, target = tmp_path / "plain", str(tmp_path / "encrypted")
    source.mkdir()
    writer(source, pa.table({"id": pa.array(EVEN + ODD, pa.int64())}))
    [file] = data_files(source)
    groups = pq.ParquetFile(file).metadata
    first, second = (groups.row_group(at).column(0) for at in range(groups.num_row_groups))
    assert (first.bloom_filter_offset < second.data_page_offset) == (writer is by_parquet_rs)
    pme.encrypt(spark, str(source), target, pme.Encryption(kms=TEST_KMS, uniform_key="footer"))
    for path in (str(source), target):
        read = spark.read.format("pme-parquet").options(kms=TEST_KMS, plaintextFiles="allow").load(path)
        for value in (0, 500, 501, 998, 1001):
            assert read.filter(f"id = {value}").count() == (EVEN + ODD).count(value)
        assert 0 < rows_scanned(read.filter("id = 500")) <= len(EVEN)
        assert rows_scanned(read.filter("id = 1000")) == 0
