"""Altered, cut or invented files: each ends in a named error, on driver and executors."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import pytest

from tests.support.expect import refused
from tests.support.files import bend, thrift

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from tests.policy.conftest import Table
    from tests.support.files.thrift import Struct


def read_with_schema(spark: SparkSession, frame: DataFrame, table: Table) -> None:
    """Read without inferring the schema, so that executors are the first to read the file."""
    reader = spark.read.format("pme-parquet").options(**table.options).schema(frame.schema)
    reader.load(str(table.path)).collect()


def refused_everywhere(spark: SparkSession, frame: DataFrame, table: Table, condition: str, *mentions: str) -> None:
    with refused(condition, table.file.name, *mentions):
        table.read(spark).collect()
    with refused(condition, table.file.name, *mentions):
        read_with_schema(spark, frame, table)


def test_an_altered_encrypted_footer_does_not_open(spark: SparkSession, frame: DataFrame, table: Table) -> None:
    bend.flip(table.file, -bend.TAIL_BYTES - bend.TAG_BYTES - 1)
    refused_everywhere(spark, frame, table, "PME_NOT_AUTHENTIC", "footer")


def test_an_altered_footer_tag_does_not_open(spark: SparkSession, frame: DataFrame, table: Table) -> None:
    bend.flip(table.file, -bend.TAIL_BYTES - 1)
    refused_everywhere(spark, frame, table, "PME_NOT_AUTHENTIC", "footer")


def test_an_altered_signed_footer_is_refused(spark: SparkSession, frame: DataFrame, signed: Table) -> None:
    bend.plain_footer(signed.file, lambda footer: thrift.put(footer, bend.FOOTER_NUM_ROWS, thrift.I64, 39))
    refused_everywhere(spark, frame, signed, "PME_NOT_AUTHENTIC", "footer")


def test_an_altered_signature_is_refused(spark: SparkSession, frame: DataFrame, signed: Table) -> None:
    bend.flip(signed.file, -bend.TAIL_BYTES - 1)
    refused_everywhere(spark, frame, signed, "PME_NOT_AUTHENTIC", "footer")


def test_a_plaintext_footer_whose_signature_was_cut_off_is_refused(
    spark: SparkSession, frame: DataFrame, signed: Table
) -> None:
    bend.plain_footer(signed.file, lambda footer: footer, signature=False)
    refused_everywhere(spark, frame, signed, "PME_NOT_AUTHENTIC", "footer")


@pytest.mark.parametrize(("module", "column"), [(0, "ssn"), (1, "ssn"), (2, "salary"), (3, "salary")])
@pytest.mark.parametrize("reader", ["pages", "spark"])
def test_an_altered_module_of_a_column_names_file_and_column(
    spark: SparkSession, table: Table, reader: str, module: int, column: str
) -> None:
    bend.flip_in_module(table.file, module)
    with refused("PME_NOT_AUTHENTIC", table.file.name, column):
        table.read(spark, reader=reader).collect()


def test_swapped_modules_do_not_open(spark: SparkSession, table: Table) -> None:
    content = table.file.read_bytes()
    (first, size), (second, other) = bend.modules(content)[0], bend.modules(content)[2]
    moved = bytearray(content)
    moved[first : first + min(size, other)] = content[second : second + min(size, other)]
    bend.replace(table.file, bytes(moved))
    with refused("PME_NOT_AUTHENTIC", table.file.name):
        table.read(spark).collect()


def test_a_footer_altered_to_claim_ctr_is_refused(spark: SparkSession, frame: DataFrame, table: Table) -> None:
    def downgraded(metadata: Struct) -> Struct:
        [(_, kind, algorithm)] = thrift.get(metadata, bend.ALGORITHM)
        return thrift.put(metadata, bend.ALGORITHM, thrift.STRUCT, [thrift.Field(bend.CTR, kind, algorithm)])

    bend.crypto_metadata(table.file, downgraded)
    refused_everywhere(spark, frame, table, "PME_ALGORITHM", "AES_GCM_CTR_V1")


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "one byte": lambda content: content[:1],
    "three bytes": lambda content: content[:3],
    "magic only": lambda content: content[:4],
    "cut by one byte": lambda content: content[:-1],
    "cut in the footer": lambda content: content[:-100],
    "first half": lambda content: content[: len(content) // 2],
    "other magic": lambda content: content[:-4] + b"PARX",
    "no Parquet at all": lambda _: b"ssn,salary\n1,2\n" * 20,
    "footer longer than the file": lambda content: content[:-8] + struct.pack("<I", len(content)) + b"PARE",
    "footer of two GiB": lambda content: content[:-8] + struct.pack("<I", 0x7FFFFFF0) + b"PARE",
    "footer of negative length": lambda content: content[:-8] + struct.pack("<I", 0xFFFFFFF0) + b"PARE",
    "footer of no length": lambda content: content[:-8] + struct.pack("<I", 0) + b"PARE",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused(spark: SparkSession, frame: DataFrame, table: Table, damage: str) -> None:
    bend.replace(table.file, DAMAGES[damage](table.file.read_bytes()))
    refused_everywhere(spark, frame, table, "PME_DAMAGED_FILE")


def test_an_empty_file_is_refused_if_the_schema_is_read_from_it(spark: SparkSession, table: Table) -> None:
    # If the schema is given, Spark never opens empty files; its own source reads no rows from them either.
    bend.replace(table.file, b"")
    with refused("PME_DAMAGED_FILE", table.file.name):
        table.read(spark).collect()


CRYPTO_METADATA: dict[str, bytes] = {
    "not Thrift": b"\xff" * 200,
    "zeros": b"\0" * 200,
    "a string of two GiB": b"\x1c\x1c\x18\xff\xff\xff\xff\x07" + b"x" * 200,
    "a list of two billion": b"\x1c\x1c\x19\xf8\xff\xff\xff\xff\x07" + b"x" * 200,
    "structs in structs": b"\x1c" * 300_000,
    "no algorithm": thrift.write_struct([thrift.Field(bend.KEY_METADATA, thrift.BINARY, b"footer")]),
    "an algorithm of tomorrow": b"\x1c\x9c\x00\x00\x18\x06footer\x00",
}


@pytest.mark.parametrize("kind", CRYPTO_METADATA)
def test_unreadable_crypto_metadata_is_refused(spark: SparkSession, frame: DataFrame, table: Table, kind: str) -> None:
    content = table.file.read_bytes()
    bend.replace(table.file, bend.with_footer(content, CRYPTO_METADATA[kind]))
    refused_everywhere(spark, frame, table, "PME_DAMAGED_FILE")


def test_a_footer_module_longer_than_the_footer_is_refused(spark: SparkSession, frame: DataFrame, table: Table) -> None:
    content = table.file.read_bytes()
    reader = thrift.Reader(content[bend.footer_start(content) :])
    reader.struct()
    at = bend.footer_start(content) + reader.at
    bend.replace(table.file, content[:at] + struct.pack("<I", 0x7FFFFFF0) + content[at + 4 :])
    refused_everywhere(spark, frame, table, "PME_DAMAGED_FILE")


KEY_METADATA: dict[str, tuple[bytes, str]] = {
    "not text": (b"\xff\xfe\x00\x01" * 8, "PME_KEY_METADATA"),
    "empty": (b"", "PME_KEY_METADATA"),
    "half JSON": (b'{"keyMaterialType":"PKMT1",', "PME_KEY_METADATA"),
    "JSON of another kind": (b'{"keyMaterialType":"PKMT9","internalStorage":true}', "PME_KEY_METADATA"),
    "nothing in it": (b"{}", "PME_KEY_METADATA"),
    "100 KB": (b'{"keyMaterialType":"' + b"x" * 100_000 + b'"}', "PME_KEY_METADATA"),
    "2 MB": (b'{"keyMaterialType":"' + b"x" * 2_000_000 + b'"}', "PME_DAMAGED_FILE"),
    "deep": (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "PME_KEY_METADATA"),
    "a deep list": (b'{"a":' + b"[" * 50_000, "PME_KEY_METADATA"),
    "the name of no key": (b"nobody", "PME_KEY_METADATA"),
    "another file's reference": (
        b'{"keyMaterialType":"PKMT1","internalStorage":false,"keyReference":"footerKey"}',
        "PME_KEY_METADATA",
    ),
}


@pytest.mark.parametrize("kind", KEY_METADATA)
def test_unusable_key_metadata_is_refused(spark: SparkSession, frame: DataFrame, table: Table, kind: str) -> None:
    content, condition = KEY_METADATA[kind]
    bend.crypto_metadata(table.file, lambda metadata: thrift.put(metadata, bend.KEY_METADATA, thrift.BINARY, content))
    refused_everywhere(spark, frame, table, condition)


def changed_material(table: Table, **fields: object) -> None:
    """Change fields of the footer's key material."""

    def changed(metadata: Struct) -> Struct:
        material = json.loads(thrift.get(metadata, bend.KEY_METADATA)) | fields
        return thrift.put(metadata, bend.KEY_METADATA, thrift.BINARY, json.dumps(material).encode())

    bend.crypto_metadata(table.file, changed)


def test_key_material_that_names_another_master_key_does_not_open(
    spark: SparkSession, frame: DataFrame, table: Table
) -> None:
    changed_material(table, masterKeyID="pii")
    refused_everywhere(spark, frame, table, "PME_NOT_AUTHENTIC", "'pii'")


@pytest.mark.parametrize("wrapped", ["", "AAAA", "no base64!", "A" * 1_000_000])
def test_an_invalid_wrapped_key_is_refused(spark: SparkSession, table: Table, wrapped: str) -> None:
    changed_material(table, wrappedDEK=wrapped)
    with refused("PME_KEY_METADATA", table.file.name):
        table.read(spark).collect()


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_a_kms_address_in_the_file_is_not_followed(spark: SparkSession, table: Table, scan: str) -> None:
    changed_material(table, kmsInstanceID="elsewhere", kmsInstanceURL="https://elsewhere.invalid")
    with refused("PME_NOT_AUTHENTIC", table.file.name):
        # The material is not authenticated, so the table opens only if the address is ignored;
        # an altered column page shows that the read used the configured KMS.
        bend.flip_in_module(table.file, 1)
        table.read(spark, scan=scan).collect()


def test_missing_external_key_material_is_named(spark: SparkSession, frame: DataFrame, external: Table) -> None:
    [material] = external.path.glob("_KEY_MATERIAL_FOR_*.json")
    material.unlink()
    refused_everywhere(spark, frame, external, "PME_KEY_METADATA", "_KEY_MATERIAL_FOR_")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"footerKey": 7}', '{"footerKey": "{}"}', "{}"])
def test_unusable_external_key_material_is_refused(
    spark: SparkSession, frame: DataFrame, external: Table, content: str
) -> None:
    [material] = external.path.glob("_KEY_MATERIAL_FOR_*.json")
    bend.replace(material, content.encode())
    refused_everywhere(spark, frame, external, "PME_KEY_METADATA")
