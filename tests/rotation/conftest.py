"""A table's KMS in this process, and a small table under three of its master keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

import pme_parquet as pme
from tests.support import tables
from tests.support.frames import people
from tests.support.kms.clients import Remembering

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


class Made(NamedTuple):
    """A table, the KMS of its keys, and its contents."""

    path: str
    client: Remembering
    kms: pme.PythonKms
    rows: list[str]
    pages: dict[str, bytes]
    wrapped: list[str]


@pytest.fixture
def made(spark: SparkSession, target: str) -> Callable[..., Made]:
    """Return a function that writes a table: ``made(keyMaterial="external")``."""

    def write(*partitions: str, **fields: object) -> Made:
        client = Remembering()
        kms = pme.PythonKms(client)
        tables.write(people(spark), target, kms, *partitions, **fields)
        rows, wrapped = tables.rows(spark, target, kms), list(client.wrapped)
        client.calls.clear()
        return Made(target, client, kms, rows, tables.pages(target), wrapped)

    return write
