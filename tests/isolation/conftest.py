"""Two keystores with equal key names, a table under each, and a reader with few keys."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, NamedTuple

import pytest

import pme_parquet as pme
from tests.support.session import ALIASES, PASSWORD_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterable
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
    store = pme.Keystore(str(root / f"{name}.p12"), password=pme.env(PASSWORD_VARIABLE))
    store.create(ALIASES)
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


class Shared(NamedTuple):
    """A table whose readers hold different sets of its keys."""

    path: str
    root: Path

    def options(self, names: Iterable[str]) -> dict[str, str]:
        """Return the options of a reader that has only the keys of these names."""
        held = sorted(names)
        listed = self.root / "-".join(held)
        keys = {name: hashlib.sha256(f"isolation {name}".encode()).digest() for name in held}
        listed.write_text("".join(f"{name}={base64.b64encode(key).decode()}\n" for name, key in keys.items()))
        return pme.Static(pme.file(str(listed))).options()

    def read(self, spark: SparkSession, *names: str) -> DataFrame:
        return spark.read.format("pme-parquet").options(**self.options(names)).load(self.path)


@pytest.fixture(scope="module")
def shared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shared:
    root = tmp_path_factory.mktemp("shared")
    table = Shared(str(root / "table"), root)
    options = table.options(["footer", "pii", "pay"]) | {"footerKey": "footer", "columnKeys": "pii: ssn; pay: salary"}
    rows = [(number, f"ssn-{number}", number * 0.5) for number in range(20)]
    frame = spark.createDataFrame(rows, SCHEMA).repartition(2)
    frame.write.format("pme-parquet").options(**options).save(table.path)
    return table
