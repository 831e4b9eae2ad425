"""Files by writers that take raw keys for columns: they carry no key metadata, so the read names the keys."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support.expect import refused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLARS = Path(__file__).parents[1] / "data" / "raw-keys"
FILES = ["polars-2.1-column-keys.parquet", "polars-2.1-column-keys-plaintext-footer.parquet"]
KEYS = {"f": b"0123456789012345", "n": b"1234567890123450", "l": b"1234567890123451"}
NAMED = {"footerKey": "f", "columnKeys": "n: name, st.b; l: l", "keyManagement": "direct"}
NAMED |= {"unlistedColumns": "plaintext"}  # Polars encrypts no other column.
every_file = pytest.mark.parametrize("name", FILES)


@pytest.fixture
def static(tmp_path: Path) -> dict[str, str]:
    listed = tmp_path / "keys.txt"
    listed.write_text("".join(f"{name}={base64.b64encode(key).decode()}\n" for name, key in KEYS.items()))
    return pme.Static(pme.file(str(listed))).options()


def read(spark: SparkSession, name: str, options: dict[str, str]) -> list[Any]:
    frame = spark.read.format("pme-parquet").options(**options).load(str(POLARS / name))
    return [row.asDict(recursive=True) for row in frame.orderBy("id").collect()]


@every_file
def test_the_read_names_the_keys_of_columns_without_key_metadata(
    spark: SparkSession, static: dict[str, str], name: str
) -> None:
    expected = [
        {
            "id": i,
            "name": None if i % 5 == 0 else f"name-{i}",
            "l": [] if i % 3 == 0 else [i, i + 1],
            "st": {"a": i, "b": f"b{i}"},
        }
        for i in range(12)
    ]
    assert read(spark, name, static | NAMED) == expected
    path = str(POLARS / name)
    assert pme.verify(spark, path, options=static | NAMED).collect() == []


@every_file
def test_another_key_or_none_or_no_direct_is_refused(spark: SparkSession, static: dict[str, str], name: str) -> None:
    with refused("PME_NOT_AUTHENTIC", name):
        read(spark, name, static | NAMED | {"columnKeys": "l: name, st.b; n: l"})
    with refused("PME_NO_KEY", name, "'l.", "columnKeys", "keyManagement=direct"):
        read(spark, name, static | NAMED | {"columnKeys": "n: name, st.b"})
    with refused("PME_NO_KEY", name, "keyManagement=direct"):
        read(spark, name, static | NAMED | {"keyManagement": "envelope"})
    with refused("PME_NO_KEY", name, "footerKey"):
        read(spark, name, static | {key: NAMED[key] for key in ("columnKeys", "keyManagement")})
