"""A user who may not write: each operation fails, says so, and changes nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.storage.hdfs.place import READ_ONLY, SECRET, SOMEBODY
from tests.storage.place import ENC, READING
from tests.support.frames import people, people_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.storage.hdfs.place import InHdfs

pytestmark = pytest.mark.oldest

NEW = {"footer": "footer-2", "pii": "pii-2", "pay": "pay-2"}
DENIED = r"(?i)permission denied|not writable|cannot be written|AccessControl"


def append(place: InHdfs) -> None:
    place.write(people(place.spark, 20), ENC, "append")


def overwrite(place: InHdfs) -> None:
    place.write(people(place.spark, 20), ENC, "overwrite")


def rotate(place: InHdfs) -> None:
    pme.rotate(place.spark, place.path, options=READING, master_keys=NEW, allow_unused=True)


def to_external(place: InHdfs) -> None:
    pme.rotate(place.spark, place.path, options=READING, master_keys=NEW, allow_unused=True, key_material="external")


def seal(place: InHdfs) -> None:
    pme.seal(place.spark, place.path, options=READING, expect="unsealed")


def in_place(place: InHdfs) -> None:
    pme.encrypt(place.spark, place.path, enc=ENC, in_place=True)


OPERATIONS = {one.__name__: one for one in (append, overwrite, rotate, to_external, seal, in_place)}


@pytest.mark.parametrize("act", OPERATIONS.values(), ids=OPERATIONS)
def test_who_may_only_read(spark: SparkSession, place: InHdfs, act: Callable[[InHdfs], None]) -> None:
    if act is in_place:
        people(spark).write.parquet(place.path)
    else:
        place.write(people(spark))
    before = place.content()
    place.files.allow(place.where, READ_ONLY, to=SOMEBODY)
    with pytest.raises(Exception, match=DENIED):
        act(place)
    assert place.content() == before
    assert place.rows(plaintextFiles="allow") == people_rows(spark)
    # With the right to write, the same is done.
    place.files.allow(place.where, 0o777)
    act(place)
    assert place.content() != before


def test_copies_into_a_directory_of_somebody_else(spark: SparkSession, place: InHdfs) -> None:
    people(spark).write.parquet(place.path)
    before = place.content()
    place.files.allow(place.directory, READ_ONLY, to=SOMEBODY)
    with pytest.raises(Exception, match=DENIED):
        pme.encrypt(spark, place.path, place.beside("copy").path, ENC)
    assert place.content() == before
    assert place.around() == {"table"}


def test_a_file_that_may_not_be_read(spark: SparkSession, place: InHdfs) -> None:
    place.write(people(spark))
    secret = min(place.data())
    place.files.allow(f"{place.where}/{secret}", SECRET, to=SOMEBODY)
    with pytest.raises(Exception, match=DENIED):
        place.rows()
    [finding] = pme.verify(spark, place.path, options=READING).collect()
    assert finding.file.endswith(secret)
    # Without the stack trace of the name node.
    assert re.fullmatch(r"Permission denied: [^\n]*", finding.message)
    names = place.names()
    with pytest.raises(Exception, match=DENIED):
        rotate(place)
    assert place.names() == names


def test_permissions_stay(spark: SparkSession, place: InHdfs) -> None:
    place.write(people(spark))
    for name in place.data():
        place.files.allow(f"{place.where}/{name}", 0o640)
    rotate(place)
    assert place.data()
    assert {place.files.permissions(f"{place.where}/{name}") for name in place.data()} == {"rw-r-----"}
