"""Reads skip files by stores of every version that PyArrow wrote; `XskipperReadsSuite` has the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.xskipper import stores
from tests.xskipper.stores import Labels
from tests.xskipper.tables import files_read, id_of, load, make

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

SCHEMA = pa.schema([("temp", pa.float64())])
FILES = {"low": [(0.1,), (2.2,)], "high": [(10.1,), (22.2,)]}


def test_stores_of_all_versions_are_used_plaintext_and_encrypted(
    spark: SparkSession, tmp_path: Path, conf: Conf
) -> None:
    make(tmp_path / "t", SCHEMA, FILES)

    said = {
        id_of(tmp_path / "t" / f"{name}.parquet"): {"min": rows[0][0], "max": rows[-1][0]}
        for name, rows in FILES.items()
    }

    def store(**given: Any) -> None:
        stores.write(tmp_path / "store", "temp", said, **given)

    def read() -> set[str]:
        frame = load(spark, tmp_path / "t", xskipperStore=str(tmp_path / "store")).where("temp < 10")
        assert sorted(row.temp for row in frame.collect()) == [0.1, 2.2]
        (names,) = files_read(frame)
        return names

    with conf({"spark.sql.adaptive.enabled": "false"}):
        for version in (None, 0, 1, 2, 3, 4):
            store(version=version)
            assert read() == {"low"}
            for plaintext in (False, True):
                store(version=version, labels=Labels("footer", "pii", plaintext_footer=plaintext))
                assert read() == {"low"}
        # A missing key costs skipping, and no row.
        for key in ("denied", "missing"):
            store(labels=Labels("footer", key))
            assert read() == {"low", "high"}
