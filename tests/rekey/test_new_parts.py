"""Fields of later versions of the format: what may reveal values is left out or refused, never written in the clear."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.expect import refused, untouched
from tests.support.files import forge, thrift
from tests.support.files.anatomy import Anatomy
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.files.thrift import Struct

CANARY = b"canary-of-a-column"
SCHEMA, ROW_GROUPS, CHUNKS, META_DATA, LOGICAL_TYPE, EXTENSION, TAIL_BYTES = 2, 4, 1, 3, 10, 32767, 8
OPEN = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": "name"}, plaintext_footer=True)
CLOSED = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": "name"})
FILE_TYPE = 19


def plain(directory: Path, change: Callable[[Struct], Struct] = list, **metadata: str) -> Path:
    """Write a plaintext table of one file, with its footer changed."""
    directory.mkdir()
    file = directory / "a.parquet"
    table = pa.table({"id": [1, 2], "name": ["a", "b"]}).replace_schema_metadata(metadata)
    pq.write_table(table, file)
    content = file.read_bytes()
    footer_at = len(content) - TAIL_BYTES - int.from_bytes(content[-TAIL_BYTES:-4], "little")
    footer = thrift.write_struct(change(thrift.Reader(content[footer_at:]).struct()))
    file.write_bytes(content[:footer_at] + forge.len_and_magic(footer, content))
    return directory


def extended(struct: Struct, number: int = EXTENSION) -> Struct:
    return thrift.put(struct, number, thrift.BINARY, CANARY)


def in_list(field: int, change: Callable[[Struct], Struct]) -> Callable[[Struct], Struct]:
    def changed(struct: Struct) -> Struct:
        kind, values = thrift.get(struct, field)
        return thrift.put(struct, field, thrift.LIST, (kind, [*values[:-1], change(values[-1])]))

    return changed


def in_metadata(chunk: Struct) -> Struct:
    return thrift.put(chunk, META_DATA, thrift.STRUCT, extended(thrift.get(chunk, META_DATA), 99))


PARTS: dict[str, tuple[Callable[[Struct], Struct], str]] = {
    "file": (lambda footer: extended(footer, 99), "field 99 of FileMetaData"),
    "schema": (in_list(SCHEMA, extended), "field 32767 of SchemaElement"),
    "group": (in_list(ROW_GROUPS, extended), "field 32767 of RowGroup"),
    "chunk": (in_list(ROW_GROUPS, in_list(CHUNKS, extended)), "field 32767 of ColumnChunk"),
    "metadata": (in_list(ROW_GROUPS, in_list(CHUNKS, in_metadata)), "field 99 of ColumnMetaData"),
}


def test_an_extension_of_the_footer_is_left_out_and_other_fields_are_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    for enc in (OPEN, CLOSED):
        source, target = plain(tmp_path / f"source-{enc.plaintext_footer}", extended), tmp_path / "target"
        pme.encrypt(spark, str(source), str(target), enc)
        pme.encrypt(spark, str(source), enc=enc, in_place=True)
        for table in (source, target):
            [file] = data_files(table)
            assert EXTENSION not in {field.number for field in Anatomy(file.read_bytes()).footer}
            assert CANARY not in file.read_bytes()
        shutil.rmtree(target)
    later = [thrift.Field(FILE_TYPE, thrift.STRUCT, [])]
    logical = in_list(SCHEMA, lambda element: thrift.put(element, LOGICAL_TYPE, thrift.STRUCT, later))
    refusals = [(part, change, OPEN, [named, "a.parquet"]) for part, (change, named) in PARTS.items()]
    for part, change, enc, mentions in [*refusals, ("logical", logical, CLOSED, ["'name'", "logical type"])]:
        source = plain(tmp_path / part, change)
        with untouched(tmp_path), refused("PME_UNSUPPORTED", *mentions):
            pme.encrypt(spark, str(source), str(tmp_path / "target"), enc)
        with untouched(tmp_path), refused("PME_UNSUPPORTED", *mentions):
            pme.encrypt(spark, str(source), enc=enc, in_place=True)


def test_entries_that_may_reveal_values_are_not_written_in_the_clear(spark: SparkSession, tmp_path: Path) -> None:
    for entry in ("geo", "hoodie_min_record_key", "org.apache.hudi.bloomfilter"):
        source, target = plain(tmp_path / entry, list, **{entry: CANARY.decode(), "pandas": "{}"}), tmp_path / "target"
        with untouched(tmp_path), refused("PME_UNSUPPORTED", f"'{entry}'", never=(CANARY.decode(),)):
            pme.encrypt(spark, str(source), str(target), OPEN)
        pme.encrypt(spark, str(source), str(target), CLOSED)
        [file] = data_files(target)
        assert CANARY not in file.read_bytes()
        shutil.rmtree(target)


@pytest.mark.parametrize("enc", [OPEN, CLOSED], ids=["plain footer", "encrypted footer"])
def test_a_footer_that_may_hold_more_keys_is_not_rotated(
    spark: SparkSession, tmp_path: Path, enc: pme.Encryption
) -> None:
    target = tmp_path / "target"
    pme.encrypt(spark, str(plain(tmp_path / "source")), str(target), enc)
    [file] = data_files(target)
    file.write_bytes(forge.with_footer(Anatomy(file.read_bytes()), extended))
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    with untouched(target), refused("PME_UNSUPPORTED", "field 32767 of FileMetaData", file.name):
        pme.rotate(spark, target, kms=pme.KmsClass(TEST_KMS), master_keys={"pii": "pii-2"})
    # Files that rekey wrote have none.
    pme.rekey(spark, str(target), str(tmp_path / "again"), enc)
    pme.rotate(spark, tmp_path / "again", kms=pme.KmsClass(TEST_KMS), master_keys={"pii": "pii-2"})
