"""A signed plaintext footer shows what readers without keys need, and nothing computed from values."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.support.canary import data_files
from tests.support.files import bend, thrift
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    import pme_parquet as pme
    from tests.support.files.thrift import Struct

# Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData in parquet.thrift.
ROW_GROUPS = 4
COLUMNS = 1
META_DATA, OFFSET_INDEX, COLUMN_INDEX, CRYPTO_METADATA, ENCRYPTED_METADATA = 3, (4, 5), (6, 7), 8, 9
PATH_IN_SCHEMA = 3
KEY_VALUE_METADATA, STATISTICS, SIZE_STATISTICS, GEOSPATIAL_STATISTICS = 8, 12, 16, 17
OF_VALUES = {
    "key-value metadata": KEY_VALUE_METADATA,
    "statistics": STATISTICS,
    "size statistics": SIZE_STATISTICS,
    "geospatial statistics": GEOSPATIAL_STATISTICS,
}

SCHEMA = "ssn string, salary double, tags array<string>, person struct<name: string>, id bigint, note string"
ENCRYPTED = ["ssn", "salary", "tags.list.element", "person.name"]
PLAIN = ["id", "note"]
PLAIN_BESIDE = {"column_keys": {"pii": ["ssn", "tags", "person"], "pay": ["salary"]}, "unlisted_columns": "plaintext"}
WRITES = {
    "column keys beside plaintext": PLAIN_BESIDE,
    "AES_GCM_CTR_V1": PLAIN_BESIDE | {"algorithm": "AES_GCM_CTR_V1"},
    "direct keys": PLAIN_BESIDE | {"key_management": "direct"},
    "the footer key for the rest": {"column_keys": {"pii": ["ssn"]}},
    "the footer key for all": {"column_keys": None},
}
ALL_ENCRYPTED = ("the footer key for the rest", "the footer key for all")


class Chunk(NamedTuple):
    """One column chunk from the readable footer, and its file."""

    fields: Struct
    content: bytes

    @property
    def metadata(self) -> Struct:
        return list(thrift.get(self.fields, META_DATA) or [])

    @property
    def name(self) -> str:
        _, names = thrift.get(self.metadata, PATH_IN_SCHEMA)
        return b".".join(names).decode()

    def pointed_at(self, place: tuple[int, int]) -> bytes:
        """Return the bytes of an index that the footer points to."""
        offset, length = (thrift.get(self.fields, number) for number in place)
        return self.content[offset : offset + length]


def chunks(directory: str) -> dict[str, Chunk]:
    """Return the chunks of a table of one file with one row group, by column."""
    [file] = data_files(directory)
    content = file.read_bytes()
    footer = thrift.Reader(content[bend.footer_start(content) : -bend.TAIL_BYTES]).struct()
    _, [group] = thrift.get(footer, ROW_GROUPS)
    _, columns = thrift.get(group, COLUMNS)
    found = [Chunk(fields, content) for fields in columns]
    return {chunk.name: chunk for chunk in found}


@pytest.fixture(scope="module")
def rich(spark: SparkSession) -> DataFrame:
    """Return a frame with lists and nulls, for which size statistics reveal most."""
    rows = [
        (f"123-{number:04d}", number * 1.5, ["tag"] * (number % 3), (f"name {number}",), number, f"note {number}")
        for number in range(40)
    ]
    return spark.createDataFrame(rows, SCHEMA).coalesce(1)


@pytest.fixture(scope="module")
def written(
    rich: DataFrame, enc: pme.Encryption, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Chunk]]:
    root = tmp_path_factory.mktemp("signed")
    tables = {}
    for name, settings in WRITES.items():
        encryption = replace(enc, plaintext_footer=True, **settings)  # type: ignore[arg-type] # of one write
        path = str(root / name.replace(" ", "-"))
        rich.write.format("pme-parquet").options(**encryption.options()).save(path)
        tables[name] = chunks(path)
    return tables


@pytest.mark.parametrize("kind", OF_VALUES)
@pytest.mark.parametrize("write", WRITES)
def test_the_readable_footer_reveals_nothing_about_encrypted_values(
    written: dict[str, dict[str, Chunk]], write: str, kind: str
) -> None:
    encrypted = [*ENCRYPTED, *PLAIN] if write in ALL_ENCRYPTED else ENCRYPTED
    told = {name: thrift.get(written[write][name].metadata, OF_VALUES[kind]) for name in encrypted}
    assert {name: values for name, values in told.items() if values} == {}


@pytest.mark.parametrize("write", WRITES)
def test_metadata_of_encrypted_columns_is_sealed_with_their_keys(
    written: dict[str, dict[str, Chunk]], write: str
) -> None:
    for name in ENCRYPTED:
        chunk = written[write][name]
        assert thrift.get(chunk.fields, CRYPTO_METADATA)
        assert is_module(thrift.get(chunk.fields, ENCRYPTED_METADATA))


def is_module(content: bytes) -> bool:
    """Return whether these bytes are one encrypted module: its length, nonce, ciphertext and tag, and nothing after."""
    [length] = struct.unpack("<I", content[: bend.LENGTH_BYTES])
    return bool(length == len(content) - bend.LENGTH_BYTES > bend.SIGNATURE_BYTES)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("place", [OFFSET_INDEX, COLUMN_INDEX], ids=["offset index", "column index"])
def test_indexes_of_encrypted_columns_are_encrypted(
    written: dict[str, dict[str, Chunk]], write: str, place: tuple[int, int]
) -> None:
    for name in ENCRYPTED:
        assert is_module(written[write][name].pointed_at(place)), name


@pytest.mark.parametrize("place", [OFFSET_INDEX, COLUMN_INDEX], ids=["offset index", "column index"])
def test_indexes_of_plaintext_columns_are_not(written: dict[str, dict[str, Chunk]], place: tuple[int, int]) -> None:
    for name in PLAIN:
        assert not is_module(written["column keys beside plaintext"][name].pointed_at(place)), name


def test_statistics_of_plaintext_columns_are_in_the_footer(written: dict[str, dict[str, Chunk]]) -> None:
    for name in PLAIN:
        chunk = written["column keys beside plaintext"][name]
        assert thrift.get(chunk.metadata, STATISTICS)
        assert thrift.get(chunk.fields, CRYPTO_METADATA) is None


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="parquet-java writes size statistics since 1.15, of Spark 4.0")
def test_spark_parquet_reveals_sizes(rich: DataFrame, tmp_path: Path) -> None:
    rich.write.parquet(str(tmp_path / "plain"))
    plain = chunks(str(tmp_path / "plain"))
    assert all(thrift.get(plain[name].metadata, SIZE_STATISTICS) for name in ("ssn", "note"))
