"""Files with the named key itself as data key: PyArrow's low-level API, and DuckDB."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.expect import refused
from tests.support.files.anatomy import Anatomy
from tests.support.interop.samples import MAPS, Table, arrow_frame, arrow_table, ordered, spark_frame, spark_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

# DuckDB 2.0 computes a wrong AAD for every nested column, also in PyArrow's files, so it only reads the others. It
# needs a package of its own for timestamps with a zone.
FLAT = ("id", "name", "note", "salary", "born", "ratio", "active", "raw")
KEYS = {128: b"0123456789abcdef", 192: b"0123456789abcdef01234567", 256: b"0123456789abcdef0123456789abcdef"}
DIRECT = {"keyManagement": "direct"}
every_length = pytest.mark.parametrize("bits", [128, 192, 256])


@pytest.fixture
def static(tmp_path: Path) -> dict[str, str]:
    listed = tmp_path / "keys.txt"
    listed.write_text("".join(f"k{bits}={base64.b64encode(key).decode()}\n" for bits, key in KEYS.items()))
    return pme.Static(pme.file(str(listed))).options()


@pytest.fixture(scope="module")
def expected() -> Table:
    return arrow_table(arrow_frame())


def rows(frame: DataFrame) -> Table:
    return spark_table(frame, maps=MAPS)


def write(spark: SparkSession, target: str, options: dict[str, str]) -> Path:
    spark_frame(spark).write.format("pme-parquet").options(**DIRECT, **options).save(target)
    [file] = data_files(target)
    return file


@every_length
@pytest.mark.parametrize("algorithm", ["AES_GCM_V1", "AES_GCM_CTR_V1"])
def test_pyarrow_reads_our_uniform_files_with_the_key_itself(
    spark: SparkSession, target: str, static: dict[str, str], expected: Table, bits: int, algorithm: str
) -> None:
    options = static | {"uniformKey": f"k{bits}", "algorithm": algorithm, "dataKeyBits": str(bits)}
    file = write(spark, target, options)
    properties = pe.create_decryption_properties(KEYS[bits])
    assert arrow_table(pq.read_table(file, decryption_properties=properties)) == expected
    back = spark.read.format("pme-parquet").options(**static | DIRECT | {"algorithm": algorithm}).load(target)
    assert rows(back) == expected


@every_length
@pytest.mark.parametrize("plaintext_footer", [False, True])
@pytest.mark.parametrize("named", ["footerKey", "uniformKey"])
def test_we_read_pyarrows_files_that_carry_no_key_metadata(
    spark: SparkSession,
    tmp_path: Path,
    static: dict[str, str],
    expected: Table,
    bits: int,
    plaintext_footer: bool,  # noqa: FBT001 -- a parameter of the test
    named: str,
) -> None:
    properties = pe.create_encryption_properties(KEYS[bits], plaintext_footer=plaintext_footer)
    path = tmp_path / "a.parquet"
    pq.write_table(arrow_frame(), path, encryption_properties=properties)
    reader = spark.read.format("pme-parquet").options(**static)
    assert rows(reader.option(named, f"k{bits}").load(str(path))) == expected


def test_a_file_without_key_metadata_needs_the_key_named(
    spark: SparkSession, tmp_path: Path, static: dict[str, str]
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(arrow_frame(), path, encryption_properties=pe.create_encryption_properties(KEYS[128]))
    reader = spark.read.format("pme-parquet").options(**static)
    with refused("PME_NO_KEY", "a.parquet", "footerKey"):
        reader.load(str(path)).collect()
    with refused("PME_NOT_AUTHENTIC", "a.parquet"):
        reader.option("footerKey", "k256").load(str(path)).collect()


@pytest.mark.parametrize("callfrom", ["driver", "executor"])
def test_a_file_that_names_a_master_key_gets_it_only_if_the_read_sets_direct(
    spark: SparkSession, target: str, static: dict[str, str], callfrom: str
) -> None:
    file = write(spark, target, static | {"uniformKey": "k256"})
    named = {"uniformKey": "k256", "kms.callFrom": callfrom}
    for reader in ("pages", "spark"):
        for options in (static | named, static, static | named | {"keyManagement": "envelope"}):
            with refused("PME_KEY_METADATA", file.name, "'k256'", "keyManagement=direct"):
                spark.read.format("pme-parquet").options(**options, reader=reader).load(target).collect()
    [finding] = pme.verify(spark, target, options=static).collect()
    assert finding.condition == "PME_KEY_METADATA"


def test_wrapped_keys_are_read_if_the_read_sets_direct(
    spark: SparkSession, target: str, static: dict[str, str], expected: Table
) -> None:
    spark_frame(spark).write.format("pme-parquet").options(uniformKey="k128", **static).save(target)
    assert rows(spark.read.format("pme-parquet").options(**static, **DIRECT).load(target)) == expected


@pytest.mark.parametrize(
    "options",
    [
        {"footerKey": "k128", "columnKeys": "k192: name"},
        {"footerKey": "k128", "keyManagement": "envelope"},
        {"uniformKey": "k128", "keyManagement": "envelope"},
    ],
    ids=str,
)
def test_a_file_without_key_metadata_is_not_given_the_footer_key_of_envelopes(
    spark: SparkSession, tmp_path: Path, static: dict[str, str], expected: Table, options: dict[str, str]
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(arrow_frame(), path, encryption_properties=pe.create_encryption_properties(KEYS[128]))
    with refused("PME_NO_KEY", "a.parquet", "keyManagement=direct"):
        spark.read.format("pme-parquet").options(**static, **options).load(str(path)).collect()
    read = spark.read.format("pme-parquet").options(**static | {"footerKey": "k128"} | DIRECT)
    assert rows(read.load(str(path))) == expected


def test_prefixes_interchange_with_pyarrow(
    spark: SparkSession, tmp_path: Path, target: str, static: dict[str, str], expected: Table
) -> None:
    prefix = {"aadPrefix": "orders-2026", "storeAadPrefix": "false"}
    file = write(spark, target, static | prefix | {"uniformKey": "k128"})
    properties = pe.create_decryption_properties(KEYS[128], aad_prefix=b"orders-2026")
    assert arrow_table(pq.read_table(file, decryption_properties=properties)) == expected

    path = tmp_path / "a.parquet"
    for stored in (False, True):
        kept = pe.create_encryption_properties(KEYS[128], aad_prefix=b"orders-2026", store_aad_prefix=stored)
        pq.write_table(arrow_frame(), path, encryption_properties=kept)
        reader = spark.read.format("pme-parquet").options(**static, footerKey="k128")
        assert rows(reader.option("aadPrefix", "orders-2026").load(str(path))) == expected


def duck(bits: int) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(f"PRAGMA add_parquet_key('k', '{KEYS[bits].decode()}')")
    return connection


def duck_rows(connection: duckdb.DuckDBPyConnection, path: Path) -> Table:
    source = f"read_parquet('{path}', encryption_config = {{footer_key: 'k'}})"
    found: Any = connection.execute(f"select {', '.join(FLAT)} from {source}")
    return ordered([dict(zip(FLAT, row, strict=True)) for row in found.fetchall()], "id")


@every_length
def test_duckdb_reads_our_uniform_files(
    spark: SparkSession, target: str, static: dict[str, str], expected: Table, bits: int
) -> None:
    file = write(spark, target, static | {"uniformKey": f"k{bits}", "dataKeyBits": str(bits)})
    assert duck_rows(duck(bits), file) == [{name: row[name] for name in FLAT} for row in expected]


def test_duckdbs_own_files_are_refused_because_they_lack_what_binds_a_module_to_its_file(
    spark: SparkSession, tmp_path: Path, static: dict[str, str]
) -> None:
    # DuckDB 2.0 writes no aad_file_unique and computes no AAD: no reader of the specification opens its files, PyArrow
    # neither. It writes without its httpfs extension, not available offline, only with "unsafe".
    connection = duck(128)
    connection.execute("SET force_mbedtls_unsafe = 'true'")
    path = tmp_path / "duck.parquet"
    connection.execute(f"copy (select 1 as id) to '{path}' (encryption_config {{footer_key: 'k'}})")
    with pytest.raises(OSError, match="decryption"):
        pq.read_table(path, decryption_properties=pe.create_decryption_properties(KEYS[128]))
    with refused("PME_AAD_PREFIX", "duck.parquet", "aad_file_unique"):
        spark.read.format("pme-parquet").options(**static, footerKey="k128").load(str(path)).collect()


def pages_of_one_ordinal(content: bytes) -> bytes:
    """Return the file with every page sealed as if it were its chunk's first."""
    file = Anatomy(content, lambda _: KEYS[128])
    changed = bytearray(content)
    for chunk in file.chunks:
        for page in chunk.pages:
            seal = file.seal(page.kind, chunk.key, chunk.row_group, chunk.column, min(page.page, 0))
            changed[page.offset : page.end] = seal.seal(page.seal.open(file.bytes_of(page)))
    return bytes(changed)


def test_duckdb_treats_every_page_as_the_first_of_its_chunk(
    spark: SparkSession, tmp_path: Path, target: str, static: dict[str, str]
) -> None:
    # If this fails with a newer DuckDB, docs/other-engines.md has good news to add.
    options = static | {"uniformKey": "k128", "keyManagement": "direct", "parquet.page.row.count.limit": "300"}
    spark.range(0, 1000, 1, 1).write.format("pme-parquet").options(**options).save(target)
    [ours] = data_files(target)
    theirs, bent = tmp_path / "arrow.parquet", tmp_path / "bent.parquet"
    properties = pe.create_encryption_properties(KEYS[128])
    table = pa.table({"id": range(1000)})
    pq.write_table(table, theirs, encryption_properties=properties, data_page_size=500, write_batch_size=100)
    bent.write_bytes(pages_of_one_ordinal(ours.read_bytes()))

    def summed(path: Path) -> Any:
        return duck(128).execute(f"select sum(id) from read_parquet('{path}', encryption_config = {{footer_key: 'k'}})")

    for path in (ours, theirs):
        assert pq.read_table(path, decryption_properties=pe.create_decryption_properties(KEYS[128])).num_rows == 1000
        with pytest.raises(duckdb.Error, match="AES tag differs"):
            summed(path).fetchone()
    assert summed(bent).fetchone() == (sum(range(1000)),)
    with pytest.raises(OSError, match="decryption"):
        pq.read_table(bent, decryption_properties=pe.create_decryption_properties(KEYS[128]))
    with refused("PME_NOT_AUTHENTIC", "bent.parquet"):
        spark.read.format("pme-parquet").options(**static, keyManagement="direct").load(str(bent)).collect()
