"""Tables in the storages of these tests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.support.session import TEST_KMS
from tests.support.source import rows
from tests.support.tables import plant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Self

    from tests.support.storage.s3 import ObjectStore

FORMAT = "pme-parquet"
ENC = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": ["name", "ssn"], "pay": ["salary"]})
UNIFORM = pme.Encryption(kms=TEST_KMS, uniform_key="footer")
EXTERNAL = pme.Encryption(kms=TEST_KMS, uniform_key="footer", key_material="external")
READING = {"kms": TEST_KMS}
MATERIAL = "_KEY_MATERIAL_FOR_"


@dataclass(frozen=True)
class Place(ABC):
    """A place for a table in a storage."""

    spark: SparkSession
    name: str

    @property
    @abstractmethod
    def path(self) -> str:
        """Its URL."""

    @abstractmethod
    def names(self) -> set[str]:
        """Return the names of all files below it."""

    @abstractmethod
    def content(self) -> dict[str, bytes]:
        """Return all files below it."""

    @abstractmethod
    def around(self) -> set[str]:
        """Return the names of what is beside it, and of itself."""

    def beside(self, what: str) -> Self:
        return replace(self, name=f"{self.name}-{what}")

    def data(self) -> set[str]:
        return {name for name in self.names() if name.endswith(".parquet") and not name.startswith("_")}

    def write(self, frame: DataFrame, enc: pme.Encryption = ENC, mode: str = "error", *partitions: str) -> None:
        frame.write.format(FORMAT).options(**enc.options()).mode(mode).partitionBy(*partitions).save(self.path)

    def plant(self, frame: DataFrame) -> None:
        """Put files into the table, by no write to it."""
        plant(frame.write.format(FORMAT).options(**ENC.options()), self.path)

    def frame(self, **options: str) -> DataFrame:
        return self.spark.read.format(FORMAT).options(**READING, **options).load(self.path)

    def rows(self, **options: str) -> list[str]:
        return rows(self.frame(**options))


@dataclass(frozen=True)
class InBucket(Place):
    """A place in a bucket."""

    store: ObjectStore
    bucket: str

    @property
    def path(self) -> str:
        return f"s3a://{self.bucket}/{self.name}"

    def names(self) -> set[str]:
        """Return the keys below it. An object whose key ends with a slash stands for a directory."""
        return {name for name in self.store.names(self.bucket, f"{self.name}/") if name and not name.endswith("/")}

    def content(self) -> dict[str, bytes]:
        files = self.store.files
        return {name: files.cat_file(f"{self.bucket}/{self.name}/{name}") for name in self.names()}

    def around(self) -> set[str]:
        return {f"{self.name}{name.split('/')[0]}" for name in self.store.names(self.bucket, self.name)}
