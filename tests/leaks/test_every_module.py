"""Nothing of the plaintext file is in the encrypted one: pages, statistics, indexes, Bloom filters, footer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.leaks.canaries import COLUMN_KEYS, ENCODINGS, EVERYWHERE, NUMBER, OPEN, PROTECTED, canaries
from tests.support.canary import assert_no_canaries, data_files, files_under, find_canaries

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Pair, Source

pytestmark = pytest.mark.rows(2)

WINDOW = 16
VALUES = [canary for canary in PROTECTED if str(canary).startswith("canary-") and canary != "canary-comment"]


def windows(path: Path) -> set[bytes]:
    content = path.read_bytes()
    return {content[at : at + WINDOW] for at in range(len(content) - WINDOW + 1)}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("algorithm", ["AES_GCM_V1", "AES_GCM_CTR_V1"])
def test_no_piece_of_the_plaintext_twin_is_in_the_file(
    spark: SparkSession, pair: Pair, encoding: str, algorithm: str
) -> None:
    frame = canaries(spark).coalesce(1)
    options = {**EVERYWHERE, **ENCODINGS[encoding]}
    pair.theirs.write(frame, **options)
    pair.ours.write(frame, **options, algorithm=algorithm)
    [twin] = data_files(pair.theirs.path)
    [file] = data_files(pair.ours.path)
    assert windows(twin) & windows(file) == set()


OPTIONS = {
    "signed plaintext footer": {"plaintextFooter": "true"},
    "external key material": {"keyMaterial": "external"},
    "single wrapping": {"doubleWrapping": "false"},
    "256 bits": {"dataKeyBits": "256", "kekBits": "256"},
    "AAD prefix": {"aadPrefix": "{table}/{file}"},
    "AES_GCM_CTR_V1": {"algorithm": "AES_GCM_CTR_V1"},
    "small row groups": {"parquet.block.size": "8192", "parquet.page.size": "512"},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_values_are_unreadable_with(spark: SparkSession, ours: Source, name: str) -> None:
    ours.write(canaries(spark), **EVERYWHERE, **OPTIONS[name], columnKeys=COLUMN_KEYS, unlistedColumns="plaintext")
    assert find_canaries(ours.path, [OPEN])
    assert_no_canaries(ours.path, [*VALUES, NUMBER])


def test_a_plaintext_footer_shows_names_but_no_values(spark: SparkSession, ours: Source) -> None:
    ours.write(canaries(spark), **EVERYWHERE, plaintextFooter="true", columnKeys=COLUMN_KEYS)
    assert find_canaries(ours.path, ["quokka_column"])
    assert_no_canaries(ours.path, [*VALUES, NUMBER, OPEN])


def test_external_key_material_names_no_column(spark: SparkSession, ours: Source) -> None:
    ours.write(canaries(spark), **EVERYWHERE, keyMaterial="external", columnKeys=COLUMN_KEYS)
    materials = [path for path in files_under(ours.path) if path.name.startswith("_KEY_MATERIAL_FOR_")]
    assert len(materials) == len(data_files(ours.path))
    assert_no_canaries(ours.path, [*PROTECTED, OPEN])


def test_checksum_files_are_searched_too(spark: SparkSession, ours: Source) -> None:
    ours.write(canaries(spark), **EVERYWHERE)
    assert [path for path in files_under(ours.path) if path.suffix == ".crc"]
