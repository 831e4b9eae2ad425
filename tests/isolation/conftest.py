"""Two keystores with equal key names, and a table under each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

import pme_parquet as pme
from tests.support.session import ALIASES, PASSWORD_VARIABLE, created

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "id bigint, ssn string, salary double"


class Side(NamedTuple):
    """One keystore, and a table written with it."""

    name: str
    keys: pme.Keystore
    path: str

    @property
    def rows(self) -> list[tuple[int, str, float]]:
        return [(number, f"{self.name}-{number}", number * 0.5) for number in range(20)]

    def encryption(self) -> pme.Encryption:
        return pme.Encryption(kms=self.keys, footer_key="footer", column_keys={"pii": ["ssn"], "pay": ["salary"]})

    def read(self, spark: SparkSession, path: str | None = None) -> DataFrame:
        return spark.read.format("pme-parquet").options(**self.keys.options()).load(path or self.path)


def side(spark: SparkSession, name: str, root: Path) -> Side:
    store = created(pme.Keystore(str(root / f"{name}.p12"), password=pme.env(PASSWORD_VARIABLE)), ALIASES)
    made = Side(name, store, str(root / name))
    frame = spark.createDataFrame(made.rows, SCHEMA).repartition(2)
    frame.write.format("pme-parquet").options(**made.encryption().options()).save(made.path)
    return made


@pytest.fixture(scope="module")
def left(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Side:
    return side(spark, "left", tmp_path_factory.mktemp("left"))


@pytest.fixture(scope="module")
def right(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Side:
    return side(spark, "right", tmp_path_factory.mktemp("right"))
