"""What one key sealed is passed off as another structure under the same key, by somebody who holds no key at all."""

from __future__ import annotations

import base64
import io
import json
import struct
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.attacks.probe import READERS
from tests.support.canary import data_files
from tests.support.expect import refused, save
from tests.support.files import bend, thrift
from tests.support.files.anatomy import Anatomy, Kind
from tests.support.interop.arrow_files import master_key

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

# MaterialSuite, ParquetLayerSuite and SplitReaderSuite show each of the checks that refuse these files.
pytestmark = pytest.mark.nightly

DAYS = (20_000, 20_001)
FORGED = 666
every_reader = pytest.mark.parametrize("reader", READERS)


def listed(tmp_path: Path, name: str, **keys: bytes) -> pme.Static:
    (tmp_path / name).write_text("".join(f"{key}={base64.b64encode(value).decode()}\n" for key, value in keys.items()))
    return pme.Static(pme.file(tmp_path / name))


@pytest.fixture
def kms(tmp_path: Path) -> pme.Static:
    return listed(tmp_path, "keys", footer=master_key("footer"))


def read(spark: SparkSession, path: Path, kms: pme.Static, **options: str) -> list[int]:
    reader = spark.read.format("pme-parquet").options(**kms.options()).options(**options)
    return sorted(row[0] for row in reader.schema("day bigint").load(str(path)).collect())


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path, kms: pme.Static) -> Path:
    """A table of one column whose dictionary is two days: sixteen bytes, which an attacker could guess."""
    frame = spark.range(1000).selectExpr(f"id % 2 + {DAYS[0]} AS day").coalesce(1)
    enc = pme.Encryption(kms=kms, uniform_key="footer", double_wrapping=False)
    save(frame, str(tmp_path / "table"), enc.options() | {"compression": "none"})
    return tmp_path / "table"


def plant_a_page_as_a_wrapped_key(
    spark: SparkSession, tmp_path: Path, table: Path, kek: str = "wrappedDEK", **prefix: str
) -> None:
    """Name the file's data key as a key-encryption key, and its dictionary page as a data key wrapped by that.

    `kek` is the field of the honest file's key material that becomes the wrapped key-encryption key.
    """
    [file] = data_files(table)
    honest = Anatomy(file.read_bytes())
    [page] = honest.chunks[0].of(Kind.DICTIONARY_PAGE)
    material = json.loads(thrift.get(honest.crypto, bend.KEY_METADATA))
    material |= {
        "doubleWrapping": True,
        "keyEncryptionKeyID": base64.b64encode(page.seal.aad).decode(),
        "wrappedKEK": material[kek],
        "wrappedDEK": base64.b64encode(honest.bytes_of(page)[bend.LENGTH_BYTES :]).decode(),
    }
    known = pme.Encryption(
        kms=listed(tmp_path, "known", known=struct.pack("<qq", *DAYS)), uniform_key="known", key_management="direct"
    )
    save(spark.range(1).selectExpr(f"{FORGED}L AS day").coalesce(1), str(tmp_path / "forged"), known.options() | prefix)
    [forged] = data_files(tmp_path / "forged")
    planted = table / "part-forged.parquet"
    planted.write_bytes(forged.read_bytes())
    metadata = json.dumps(material).encode()
    bend.crypto_metadata(planted, lambda crypto: thrift.put(crypto, bend.KEY_METADATA, thrift.BINARY, metadata))


def test_a_page_is_not_accepted_as_a_wrapped_key(
    spark: SparkSession, tmp_path: Path, table: Path, kms: pme.Static
) -> None:
    assert len(read(spark, table, kms)) == 1000
    plant_a_page_as_a_wrapped_key(spark, tmp_path, table)
    for reader in READERS:
        with refused("PME_KEY_METADATA", "part-forged.parquet", "key-encryption key"):
            read(spark, table, kms, reader=reader, footerKey="footer")
    [finding] = pme.verify(spark, table, kms=kms).collect()
    assert (finding.file.endswith("part-forged.parquet"), finding.condition) == (True, "PME_KEY_METADATA")
    with pytest.raises(pme.PmeError, match="part-forged") as caught:
        pme.rotate(spark, table, kms=kms)
    assert caught.value.condition == "PME_KEY_METADATA"
    usage = pme.key_usage(spark, table, kms=kms).collect()
    assert "PME_KEY_METADATA" in [problem for use in usage for problem in use.problems]


@pytest.mark.parametrize("kek", ["wrappedDEK", "wrappedKEK"])
def test_a_page_with_an_aad_as_long_as_a_kek_id_is_not_accepted_as_a_wrapped_key(
    spark: SparkSession, tmp_path: Path, kms: pme.Static, kek: str
) -> None:
    # The AAD of a dictionary page is the prefix and 13 bytes: with double wrapping it may be 16, as the id is.
    frame = spark.range(1000).selectExpr(f"id % 2 + {DAYS[0]} AS day").coalesce(1)
    enc = pme.Encryption(kms=kms, uniform_key="footer", aad_prefix="pay")
    table = tmp_path / "table"
    save(frame, str(table), enc.options() | {"compression": "none"})
    assert len(read(spark, table, kms, aadPrefix="pay")) == 1000
    plant_a_page_as_a_wrapped_key(spark, tmp_path, table, kek, aadPrefix="pay", storeAadPrefix="false")
    for reader in READERS:
        with refused("PME_NOT_AUTHENTIC", "part-forged.parquet"):
            read(spark, table, kms, reader=reader, aadPrefix="pay")


def footer_in_a_value() -> tuple[bytes, bytes]:
    """Return a value that a reader can take for a footer, and the readable chunk that this footer names.

    In a dictionary the value's length, 536, precedes it: to Thrift a field of two bytes, which readers skip.
    """
    made = io.BytesIO()
    rows = pa.table({"day": pa.array([FORGED], pa.int64())})
    pq.write_table(rows, made, compression="none", use_dictionary=False, store_schema=False, write_statistics=False)
    content = made.getvalue()
    footer = content[bend.footer_start(content) : -bend.TAIL_BYTES]
    assert footer[0] == 0x15
    value = b"\x05\x02" + footer[1:]
    assert len(value) <= 536
    return value.ljust(536, b"\0"), content[bend.MAGIC_BYTES : bend.footer_start(content)]


def plant_a_page_as_a_footer(table: Path, rows: bytes) -> None:
    """Make a file whose footer is a dictionary page. The file states another AAD prefix, with a different end."""
    [file] = data_files(table)
    honest = Anatomy(file.read_bytes())
    [page] = honest.named("note").of(Kind.DICTIONARY_PAGE)
    # The AAD of a footer is that of its file and a zero, and the page's AAD ends in a zero, too.
    aad = page.seal.aad[:-1]
    assert page.seal.aad == aad + bytes([Kind.FOOTER])
    [(number, kind, _)] = thrift.get(honest.crypto, bend.ALGORITHM)
    told = [
        thrift.Field(bend.AAD_PREFIX, thrift.BINARY, aad[:-8]),
        thrift.Field(bend.AAD_FILE_UNIQUE, thrift.BINARY, aad[-8:]),
    ]
    algorithm = [thrift.Field(number, kind, told)]
    crypto = thrift.write_struct(thrift.put(honest.crypto, bend.ALGORITHM, thrift.STRUCT, algorithm))
    tail = crypto + honest.bytes_of(page)
    forged = b"PARE" + rows + tail + struct.pack("<I", len(tail)) + b"PARE"
    (table / "part-forged.parquet").write_bytes(forged)


@every_reader
def test_a_page_is_not_accepted_as_a_footer(spark: SparkSession, tmp_path: Path, kms: pme.Static, reader: str) -> None:
    value, rows = footer_in_a_value()
    frame = spark.range(100).selectExpr(f"{DAYS[0]}L AS day", f"CAST(X'{value.hex()}' AS BINARY) AS note").coalesce(1)
    table = tmp_path / "table"
    save(frame, str(table), pme.Encryption(kms=kms, uniform_key="footer").options() | {"compression": "none"})
    plant_a_page_as_a_footer(table, rows)
    with refused("PME_AAD_PREFIX", "part-forged.parquet"):
        read(spark, table, kms, reader=reader)
    with refused("PME_AAD_PREFIX", "part-forged.parquet"):
        spark.read.format("pme-parquet").options(**kms.options(), reader=reader).schema("day bigint").load(
            str(table)
        ).count()
