"""The files that the tests attack: by three writers, under both algorithms, with both kinds of footer.

Each has two row groups, several data pages in a column chunk, a dictionary in ``name``, plain pages elsewhere, a page
index and, if the writer can, a Bloom filter of ``note``. ``id`` and ``twin`` share a data key in some of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

from tests.support.canary import data_files
from tests.support.interop.arrow_files import LocalKms
from tests.support.interop.modes import CTR, GCM, java_read_properties
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ROWS, GROUP_ROWS, PAGE_ROWS = 160, 100, 50
SCHEMA = "name string, note string, salary double, id bigint, twin bigint"
COLUMN_KEYS = {"pii": ["name", "note"], "pay": ["salary"]}
FACTORY = "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"

LAYOUT = {
    "parquet.page.row.count.limit": str(PAGE_ROWS),
    "parquet.page.size.row.check.min": str(PAGE_ROWS),
    "parquet.enable.dictionary": "false",
    "parquet.enable.dictionary#name": "true",
    "parquet.bloom.filter.enabled#note": "true",
    "parquet.bloom.filter.expected.ndv#note": "20",
}

Row = tuple[str | None, str, float, int, int]


class Kind(NamedTuple):
    """The writer of a file and its settings."""

    writer: str
    algorithm: str
    plain_footer: bool

    def __str__(self) -> str:
        algorithm = "gcm" if self.algorithm == GCM else "ctr"
        return f"{self.writer}-{algorithm}-{'plain' if self.plain_footer else 'encrypted'}_footer"

    @property
    def compression(self) -> str:
        """Under CTR an altered byte of an uncompressed page is an altered value; pages of equal size can be swapped."""
        return "snappy" if self.algorithm == GCM and self.plain_footer else "none"


WRITERS = ("ours", "java", "arrow")
KINDS = [Kind(writer, algorithm, plain) for writer in WRITERS for algorithm in (GCM, CTR) for plain in (False, True)]


def rows(version: int = 1) -> list[Row]:
    """Return the rows of one version of the file; all versions have the same layout."""
    return [
        (
            None if number % 9 == 8 else f"name-{number % 4}",
            f"note {number:05d}",
            number * 1.5 * version,
            number,
            number * version + 1000,
        )
        for number in range(ROWS)
    ]


def frame(spark: SparkSession, version: int = 1) -> DataFrame:
    return spark.createDataFrame(rows(version), SCHEMA).coalesce(1)


def columns_text() -> str:
    return "; ".join(f"{key}: {', '.join(columns)}" for key, columns in COLUMN_KEYS.items())


def our_options(kind: Kind) -> dict[str, str]:
    return {
        "kms": TEST_KMS,
        "footerKey": "footer",
        "columnKeys": columns_text(),
        "algorithm": kind.algorithm,
        "plaintextFooter": str(kind.plain_footer).lower(),
        "unlistedColumns": "plaintext" if kind.plain_footer else "footerKey",
    }


def java_properties(kind: Kind) -> dict[str, str]:
    settings = {
        "footer.key": "footer",
        "column.keys": columns_text(),
        "complete.columns": "true",
        "algorithm": kind.algorithm,
        "plaintext.footer": str(kind.plain_footer).lower(),
    }
    crypto = {"parquet.crypto.factory.class": FACTORY} | java_read_properties(TEST_KMS)
    return crypto | {f"parquet.encryption.{name}": value for name, value in settings.items()}


OPTIONS: dict[str, Callable[[Kind], dict[str, str]]] = {
    "ours": our_options,
    "java": java_properties,
}


def by_spark(spark: SparkSession, kind: Kind, options: dict[str, str], directory: Path, version: int) -> bytes:
    source = "pme-parquet" if kind.writer == "ours" else "parquet"
    # The buffered data of a row group is compressed page by page.
    group_bytes = "3500" if kind.compression == "snappy" else "5850"
    settings = LAYOUT | options | {"compression": kind.compression, "parquet.block.size": group_bytes}
    frame(spark, version).write.format(source).options(**settings).save(str(directory))
    [file] = data_files(directory)
    return file.read_bytes()


def arrow_table(version: int) -> pa.Table:
    types = [("name", pa.string()), ("note", pa.string()), ("salary", pa.float64())]
    schema = pa.schema([*types, ("id", pa.int64()), ("twin", pa.int64())])
    columns = zip(*rows(version), strict=True)
    arrays = [pa.array(values, field.type) for field, values in zip(schema, columns, strict=True)]
    return pa.table(arrays, schema=schema)


def by_arrow(kind: Kind, file: Path, version: int) -> bytes:
    config = pe.EncryptionConfiguration(
        footer_key="footer",
        column_keys=COLUMN_KEYS,
        encryption_algorithm=kind.algorithm,
        plaintext_footer=kind.plain_footer,
    )
    factory = pe.CryptoFactory(lambda _: LocalKms())
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
    pq.write_table(
        arrow_table(version),
        file,
        encryption_properties=properties,
        row_group_size=GROUP_ROWS,
        write_batch_size=PAGE_ROWS,
        data_page_size=1,
        use_dictionary=["name"],
        write_page_index=True,
        compression=kind.compression,
    )
    return file.read_bytes()


def written(
    spark: SparkSession, kind: Kind, directory: Path, version: int = 1, options: dict[str, str] | None = None
) -> bytes:
    """Return one version of a file of this kind; files of Spark's writers may override the kind's options."""
    if kind.writer == "arrow":
        directory.mkdir(parents=True)
        return by_arrow(kind, directory / "a.parquet", version)
    return by_spark(spark, kind, OPTIONS[kind.writer](kind) if options is None else options, directory, version)
