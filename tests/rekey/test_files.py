"""A copied file holds what its source held, byte for byte, under new keys only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.rekey.content import assert_places_are_true, content, copied
from tests.support.canary import data_files
from tests.support.files.anatomy import Anatomy, data_keys_of
from tests.support.files.writers import COLUMN_KEYS, KINDS, ROWS, Kind, written
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ALL_TO_FOOTER = pme.Encryption(kms=TEST_KMS, uniform_key="other")
OTHER_SETS = pme.Encryption(
    kms=TEST_KMS,
    footer_key="footer",
    column_keys={"pay": ["note", "twin"], "other": "id"},
    algorithm="AES_GCM_CTR_V1",
    plaintext_footer=True,
    unlisted_columns="plaintext",
    data_key_bits=256,
)
SAME = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys=COLUMN_KEYS, plaintext_footer=True)
TARGETS = {"one key": ALL_TO_FOOTER, "other columns, CTR, plain footer": OTHER_SETS, "plain footer": SAME}
# Each writer's files are copied to each target; the four kinds of a writer share three targets in turn.
CASES = [(kind, list(TARGETS)[number % len(TARGETS)]) for number, kind in enumerate(KINDS)]


def rekeyed(spark: SparkSession, kind: Kind, enc: pme.Encryption, directory: Path) -> tuple[Anatomy, Anatomy]:
    """Return a file of this kind, and its copy."""
    source, target = directory / "source", directory / "target"
    before = Anatomy(written(spark, kind, source))
    done = pme.rekey(spark, str(source), str(target), enc, options={"algorithm": kind.algorithm})
    [file] = data_files(target)
    assert (done.files, done.rows, done.bytes) == (1, ROWS, file.stat().st_size)
    after = Anatomy(file.read_bytes())
    assert done.pages == sum(len(chunk.pages) for chunk in after.chunks) // 2
    return before, after


@pytest.mark.parametrize(("kind", "name"), CASES, ids=str)
def test_a_copy_holds_the_same(spark: SparkSession, tmp_path: Path, kind: Kind, name: str) -> None:
    before, after = rekeyed(spark, kind, TARGETS[name], tmp_path)
    assert content(after) == copied(before)
    assert_places_are_true(after)
    assert not data_keys_of(before) & data_keys_of(after)
    assert not any(key in after.content for key in data_keys_of(before) | data_keys_of(after))
    assert before.aad != after.aad
    if TARGETS[name] is OTHER_SETS:
        keys = {chunk.name: chunk.key for chunk in after.chunks if chunk.row_group == 0}
        assert (after.plain_footer, after.ctr) == (True, True)
        assert {name for name, key in keys.items() if key} == {"note", "twin", "id"}
        assert len({keys["note"], keys["twin"], keys["id"], after.footer_key}) == 4
        assert {len(key) for key in keys.values() if key} == {32}
