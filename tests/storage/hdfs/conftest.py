"""One HDFS for all tests of this folder, and a directory in it for each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.storage.hdfs.place import InHdfs
from tests.support.storage.hdfs import Files, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.support.storage.hdfs import Hdfs


@pytest.fixture(scope="package")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with running(tmp_path_factory.mktemp("hdfs")) as made:
        yield made


@pytest.fixture
def place(spark: SparkSession, hdfs: Hdfs, request: pytest.FixtureRequest) -> InHdfs:
    files = Files(spark, hdfs)
    directory = re.sub(r"\W+", "-", request.node.name).strip("-")
    files.make(directory)
    return InHdfs(spark, "table", files, directory)
