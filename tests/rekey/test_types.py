"""Tables of all types can be copied: Spark, which lacks some of the types, is not involved."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.session import SPARK_VERSION, TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ENC = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": ["timestamp_ns", "time64_ns"]})
OTHER = pme.Encryption(kms=TEST_KMS, uniform_key="other")
DAY, NOON = dt.datetime(2026, 1, 2, 3, 4, 5), dt.time(12, 0, 1)  # noqa: DTZ001 some of the types have no zone
COLUMNS: dict[str, tuple[pa.DataType, Any]] = {
    "bool": (pa.bool_(), True),
    **{f"{sign}int{bits}": (getattr(pa, f"{sign}int{bits}")(), bits) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float": (pa.float32(), 1.5),
    "double": (pa.float64(), 1.5),
    "date32": (pa.date32(), DAY.date()),
    "date64": (pa.date64(), DAY.date()),
    **{f"timestamp_{unit}": (pa.timestamp(unit), DAY) for unit in ("s", "ms", "us", "ns")},
    **{
        f"zoned_{unit}": (pa.timestamp(unit, "UTC"), DAY.replace(tzinfo=dt.timezone.utc)) for unit in ("ms", "us", "ns")
    },
    **{f"time32_{unit}": (pa.time32(unit), NOON) for unit in ("s", "ms")},
    **{f"time64_{unit}": (pa.time64(unit), NOON) for unit in ("us", "ns")},
    "duration": (pa.duration("ns"), dt.timedelta(seconds=5)),
    "decimal128": (pa.decimal128(30, 3), Decimal("1.250")),
    "decimal256": (pa.decimal256(60, 3), Decimal("1.250")),
    "string": (pa.string(), "a"),
    "large_string": (pa.large_string(), "a"),
    "binary": (pa.binary(), b"a"),
    "fixed": (pa.binary(3), b"abc"),
    "uuid": (pa.uuid(), UUID(int=7).bytes),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), "a"),
    "list": (pa.list_(pa.timestamp("ns")), [DAY]),
    "fixed_list": (pa.list_(pa.uint64(), 2), [1, 2]),
    "struct": (pa.struct([("inner", pa.time64("ns"))]), {"inner": NOON}),
    "map": (pa.map_(pa.string(), pa.uint64()), [("a", 1)]),
    "null": (pa.null(), None),
}
FLOAT16 = {"half": (pa.float16(), 1.5)}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return tables with every type that PyArrow and DuckDB write, by writer."""
    root = tmp_path_factory.mktemp("types")
    # parquet-java 1.13, which Spark 3.5 has, does not know half floats.
    columns = COLUMNS | (FLOAT16 if SPARK_VERSION >= (4, 0) else {})
    rows = pa.table({name: pa.array([value, None], kind) for name, (kind, value) in columns.items()})
    for version in ("1.0", "2.6"):
        path = root / f"arrow-{version}"
        (path / "day=1").mkdir(parents=True)
        pq.write_table(rows, path / "day=1" / "a.parquet", version=version)
    (root / "int96").mkdir()
    pq.write_table(rows.select(["timestamp_ns"]), root / "int96" / "a.parquet", use_deprecated_int96_timestamps=True)
    (root / "duckdb").mkdir()
    values = "INTERVAL 3 DAY AS i, 'a'::ENUM('a', 'b') AS e, '{}'::JSON AS j, TIMETZ '12:00:00+02' AS t"
    duckdb.sql(f"COPY (SELECT {values}) TO '{root}/duckdb/a.parquet'")
    return {path.name: path for path in root.iterdir()}


@pytest.mark.parametrize("writer", ["arrow-2.6", "arrow-1.0", "int96", "duckdb"])
def test_every_type_is_encrypted_rotated_and_decrypted(
    spark: SparkSession, tables: dict[str, Path], tmp_path: Path, writer: str
) -> None:
    source, copy, again, back = tables[writer], *(tmp_path / name for name in ("copy", "again", "back"))
    enc = ENC if writer.startswith("arrow") else OTHER
    pme.encrypt(spark, str(source), str(copy), enc)
    pme.rekey(spark, str(copy), str(again), OTHER)
    pme.decrypt(spark, str(again), str(back), pme.KmsClass(TEST_KMS), write_plaintext=True)
    [before], [after] = data_files(source), data_files(back)
    assert after.relative_to(back) == before.relative_to(source)
    assert pq.ParquetFile(after).schema.equals(pq.ParquetFile(before).schema)
    assert pq.ParquetFile(after).read().equals(pq.ParquetFile(before).read())
    if writer == "arrow-2.6":
        kms = pme.KmsClass(TEST_KMS)
        pme.rotate(spark, copy, kms=kms, master_keys={"pii": "pii-2"})
        keys = {row.master_key: row.columns for row in pme.key_usage(spark, copy, kms=kms).collect()}
        assert keys["pii-2"] == ["time64_ns", "timestamp_ns"]
        assert pme.verify(spark, copy, kms=kms).count() == 0
        pme.report(copy, tmp_path / "report.html", spark=spark, kms=kms)
