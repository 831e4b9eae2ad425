"""What all tests of ORC share: a KMS with the master keys that ORC's memory provider has, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import encrypted_orc as orc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="session")
def owner(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the options of a reader who has every master key. The memory provider has them after this."""
    orc.know_keys(spark)
    return orc.static(tmp_path_factory.mktemp("owner"))


@pytest.fixture(scope="session")
def analyst(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the options of a reader who has ``PAY`` only."""
    return orc.static(tmp_path_factory.mktemp("analyst"), [orc.PAY])


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the options of a reader who has another key of the same name."""
    wrong = {orc.PII: bytes(range(100, 116))}
    return orc.static(tmp_path_factory.mktemp("stranger"), [orc.PAY], **wrong)


@pytest.fixture(scope="session")
def people(spark: SparkSession) -> DataFrame:
    """Return rows with two columns to protect, one of which holds others."""
    return spark.range(0, 1000, 1, 2).selectExpr(
        "id",
        "concat('ssn-', id) AS ssn",
        "id * 1.5D AS salary",
        "named_struct('city', concat('c', id % 7), 'lines', array(concat('l', id), 'x')) AS address",
    )
