"""An encrypted table that the tests of refusals alter, and a plaintext one."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest

import pme_parquet as pme
from tests.support.canary import data_files

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "ssn string, salary double, id bigint"
ROWS = [(f"123-45-{number:04d}", number * 1.5, number) for number in range(40)]


class Table(NamedTuple):
    """A table of one file, and the options that read it."""

    path: Path
    options: dict[str, str]

    @property
    def file(self) -> Path:
        [file] = data_files(self.path)
        return file

    def read(self, spark: SparkSession, **options: str) -> DataFrame:
        return spark.read.format("pme-parquet").options(**self.options | options).load(str(self.path))


@pytest.fixture(scope="session")
def frame(spark: SparkSession) -> DataFrame:
    """Return a frame of one partition: ``ssn`` is first, so that its chunk is the first in the file."""
    return spark.createDataFrame(ROWS, SCHEMA).coalesce(1)


@pytest.fixture(scope="session")
def columns(keys: pme.Keystore) -> pme.Encryption:
    """Return the encryption of the tests: ``pii`` for ssn, ``pay`` for salary, ``footer`` for the rest."""
    return pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["ssn"], "pay": ["salary"]})


@pytest.fixture(scope="session")
def originals(frame: DataFrame, columns: pme.Encryption, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return tables written once, which ``table`` and the like copy before a test alters them."""
    root = tmp_path_factory.mktemp("originals")
    kinds = {
        "encrypted": columns,
        "signed": replace(columns, plaintext_footer=True),
        "external": replace(columns, key_material="external"),
    }
    for kind, encryption in kinds.items():
        frame.write.format("pme-parquet").options(**encryption.options()).save(str(root / kind))
    frame.write.parquet(str(root / "plain"))
    return {kind: root / kind for kind in (*kinds, "plain")}


def copied(original: Path, target: Path, keys: pme.Keystore) -> Table:
    shutil.copytree(original, target)
    return Table(target, keys.options())


@pytest.fixture
def table(originals: dict[str, Path], tmp_path: Path, keys: pme.Keystore) -> Table:
    """Return a table with encrypted footers."""
    return copied(originals["encrypted"], tmp_path / "encrypted", keys)


@pytest.fixture
def signed(originals: dict[str, Path], tmp_path: Path, keys: pme.Keystore) -> Table:
    """Return a table with signed, readable footers."""
    return copied(originals["signed"], tmp_path / "signed", keys)


@pytest.fixture
def external(originals: dict[str, Path], tmp_path: Path, keys: pme.Keystore) -> Table:
    """Return a table with its key material in separate files."""
    return copied(originals["external"], tmp_path / "external", keys)


@pytest.fixture
def plain(originals: dict[str, Path], tmp_path: Path, keys: pme.Keystore) -> Table:
    """Return a plaintext table."""
    return copied(originals["plain"], tmp_path / "plain", keys)
