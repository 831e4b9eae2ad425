"""Writers and readers that take raw keys for columns: Polars.

Their files carry no key metadata, so the read names the keys. Ours carry the key's name, which they ignore.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support import needs
from tests.support.canary import data_files
from tests.support.expect import refused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLARS = Path(__file__).parents[1] / "data" / "raw-keys"
FILES = ["polars-2.1-column-keys.parquet", "polars-2.1-column-keys-plaintext-footer.parquet"]
KEYS = {"f": b"0123456789012345", "n": b"1234567890123450", "l": b"1234567890123451"}
NAMED = {"footerKey": "f", "columnKeys": "n: name, st.b; l: l", "keyManagement": "direct"}
NAMED |= {"unlistedColumns": "plaintext"}  # Polars encrypts no other column.
needs_polars = needs.package("polars", "the Polars that has encryption needs Python 3.11")
every_file = pytest.mark.parametrize("name", FILES)


@pytest.fixture
def static(tmp_path: Path) -> dict[str, str]:
    listed = tmp_path / "keys.txt"
    listed.write_text("".join(f"{name}={base64.b64encode(key).decode()}\n" for name, key in KEYS.items()))
    return pme.Static(pme.file(str(listed))).options()


def read(spark: SparkSession, name: str, options: dict[str, str]) -> list[Any]:
    frame = spark.read.format("pme-parquet").options(**options).load(str(POLARS / name))
    return [row.asDict(recursive=True) for row in frame.orderBy("id").collect()]


def content() -> list[dict[str, Any]]:
    """Return the rows of these files."""
    return [
        {
            "id": i,
            "name": None if i % 5 == 0 else f"name-{i}",
            "l": [] if i % 3 == 0 else [i, i + 1],
            "st": {"a": i, "b": f"b{i}"},
        }
        for i in range(12)
    ]


@every_file
def test_the_read_names_the_keys_of_columns_without_key_metadata(
    spark: SparkSession, static: dict[str, str], name: str
) -> None:
    assert read(spark, name, static | NAMED) == content()
    path = str(POLARS / name)
    assert pme.verify(spark, path, options=static | NAMED).collect() == []
    with refused("PME_UNSUPPORTED", name, "'name'", "reader=pages"):
        read(spark, name, static | NAMED | {"reader": "spark"})


@every_file
def test_another_key_or_none_or_no_direct_is_refused(spark: SparkSession, static: dict[str, str], name: str) -> None:
    with refused("PME_NOT_AUTHENTIC", name):
        read(spark, name, static | NAMED | {"columnKeys": "l: name, st.b; n: l"})
    with refused("PME_NO_KEY", name, "'l.", "columnKeys", "keyManagement=direct"):
        read(spark, name, static | NAMED | {"columnKeys": "n: name, st.b"})
    with refused("PME_NO_KEY", name, "keyManagement=direct"):
        read(spark, name, static | NAMED | {"keyManagement": "envelope"})
    with refused("PME_NO_KEY", name, "footerKey"):
        read(spark, name, static | {key: NAMED[key] for key in ("columnKeys", "keyManagement")})


COLUMNS = {"footerKey": "f", "columnKeys": "n: name, st.b; l: l"}
RAW = {"name": KEYS["n"], "st.b": KEYS["n"], "l.list.element": KEYS["l"]}
MODES = {
    "one key": {"uniformKey": "f"},
    "one key, signed plaintext footer": {"uniformKey": "f", "plaintextFooter": "true"},
    "keys of columns": COLUMNS,
    "keys of columns, signed plaintext footer": COLUMNS | {"plaintextFooter": "true"},
    "other columns in plaintext": COLUMNS | {"unlistedColumns": "plaintext"},
    "a supplied AAD prefix": COLUMNS | {"aadPrefix": "table", "storeAadPrefix": "false"},
    "a stored AAD prefix": COLUMNS | {"aadPrefix": "table", "storeAadPrefix": "true"},
}
every_mode = pytest.mark.parametrize("mode", MODES)


@needs_polars
@every_mode
def test_polars_reads_our_files_with_direct_keys(
    spark: SparkSession, target: str, static: dict[str, str], mode: str
) -> None:
    import polars as pl

    options = static | MODES[mode] | {"keyManagement": "direct", "dataKeyBits": "128"}
    rows = spark.createDataFrame(content(), "id long, name string, l array<long>, st struct<a: long, b: string>")
    rows.coalesce(1).write.format("pme-parquet").options(**options).save(target)
    [file] = data_files(target)
    decryption = pl.ParquetDecryptionProperties(
        footer_key=KEYS["f"],
        column_keys=RAW if "columnKeys" in options else None,
        aad_prefix=b"table" if options.get("storeAadPrefix") == "false" else None,
    )
    assert pl.read_parquet(file, decryption=decryption).sort("id").to_dicts() == content()


@needs_polars
@every_mode
def test_we_read_files_of_polars(spark: SparkSession, tmp_path: Path, static: dict[str, str], mode: str) -> None:
    import polars as pl

    named = MODES[mode]
    encryption = pl.ParquetEncryptionProperties(
        footer_key=KEYS["f"],
        column_keys=RAW if "columnKeys" in named else None,
        plaintext_footer="plaintextFooter" in named,
        aad_prefix=b"table" if "aadPrefix" in named else None,
        store_aad_prefix=named.get("storeAadPrefix") == "true",
    )
    pl.DataFrame(content()).write_parquet(tmp_path / "a.parquet", encryption=encryption)
    options = static | {"keyManagement": "direct", "footerKey": "f"}
    if "columnKeys" in named:
        options |= {"columnKeys": COLUMNS["columnKeys"], "unlistedColumns": "plaintext"}
    if "aadPrefix" in named:
        options |= {"aadPrefix": "table"}
    frame = spark.read.format("pme-parquet").options(**options).load(str(tmp_path / "a.parquet"))
    assert [row.asDict(recursive=True) for row in frame.orderBy("id").collect()] == content()
