"""Keys that go under other master keys: whoever reads finds the same rows, and nothing of the old keys is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.rotation import tables
from tests.rotation.tables import NEW, OLD, Remembering
from tests.support.frames import people

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_all_keys_go_under_new_master_keys(spark: SparkSession, target: str) -> None:
    client = Remembering()
    kms = pme.PythonKms(client)
    tables.write(people(spark), target, kms)
    expected, before, wrapped = tables.rows(spark, target, kms), tables.pages(target), list(client.wrapped)
    client.calls.clear()

    report = pme.rotate(spark, target, kms=kms, master_keys=NEW)

    assert report.counts == {"rotated": len(before)}
    assert tables.pages(target) == before
    assert tables.found(target, wrapped) == []
    only_new = pme.PythonKms(Remembering(lacks=OLD))
    assert tables.rows(spark, target, only_new) == expected
    assert client.count("unwrap") == dict.fromkeys([*OLD, *NEW.values()], 1)
    assert client.count("wrap") == dict.fromkeys(NEW.values(), 1)
