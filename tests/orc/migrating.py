"""ORC tables to migrate: under keys of a list, of ORC's memory provider, and with what Spark does not write."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import get_field, set_field

import pme_parquet as pme

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

# Names that no other test gives to ORC's memory provider, which keeps keys as long as the JVM.
RAW = {"mig_pii": bytes(range(16)), "mig_pay": bytes(range(50, 82))}
FOOTER = bytes(range(100, 116))
COLUMN_KEYS = "mig_pii: name, ssn, address.street, tags; mig_pay: salary"


@dataclass(frozen=True)
class Keys:
    """Lists of master keys, each a KMS."""

    directory: Path

    def kms(self, name: str, keys: dict[str, bytes]) -> dict[str, str]:
        """Return the options of a KMS with these keys."""
        path = self.directory / f"{name}.txt"
        path.write_text("".join(f"{key}={base64.b64encode(raw).decode()}\n" for key, raw in keys.items()))
        return {"kms": "static", "kms.static.keys": f"file:{path}"}

    @property
    def full(self) -> dict[str, str]:
        return self.kms("full", RAW | {"footer": FOOTER})

    @property
    def without_pii(self) -> dict[str, str]:
        return self.kms("without", {"mig_pay": RAW["mig_pay"], "footer": FOOTER})

    @property
    def wrong_pii(self) -> dict[str, str]:
        return self.kms("wrong", RAW | {"mig_pii": bytes(16), "footer": FOOTER})

    @property
    def enc(self) -> pme.Encryption:
        return pme.Encryption(kms=self.full, footer_key="footer")


def write(
    frame: DataFrame,
    path: Path,
    keys: Keys,
    column_keys: str,
    *partitions: str,
    **options: str,
) -> Path:
    """Write encrypted ORC with our format."""
    writer = frame.write.format("pme-orc").options(**keys.full, columnKeys=column_keys, **options)
    writer.partitionBy(*partitions).save(str(path))
    return path


def use_memory_provider(spark: SparkSession) -> None:
    """Put the keys into ORC's own provider."""
    jvm: Any = spark._jvm
    conf = jvm.org.apache.hadoop.conf.Configuration()
    conf.set("orc.key.provider", "memory")
    provider = jvm.org.apache.orc.impl.CryptoUtils.getKeyProvider(conf, jvm.java.security.SecureRandom())
    if "mig_pii" in set(provider.getKeyNames()):
        return
    kinds = {
        16: jvm.org.apache.orc.EncryptionAlgorithm.AES_CTR_128,
        32: jvm.org.apache.orc.EncryptionAlgorithm.AES_CTR_256,
    }
    for name, raw in RAW.items():
        provider.addKey(name, kinds[len(raw)], bytearray(raw))


def empty_file(
    spark: SparkSession,
    path: Path,
    schema: str,
    metadata: str = "",
    texts: list[str] | None = None,
) -> None:
    """Write a file with ORC's own writer: of this schema without rows, or of one column with these texts."""
    jvm: Any = spark._jvm
    options = jvm.org.apache.orc.OrcFile.writerOptions(jvm.org.apache.hadoop.conf.Configuration())
    kind = jvm.org.apache.orc.TypeDescription.fromString(schema)
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = jvm.org.apache.orc.OrcFile.createWriter(jvm.org.apache.hadoop.fs.Path(str(path)), options.setSchema(kind))
    if metadata:
        writer.addUserMetadata(metadata, jvm.java.nio.ByteBuffer.wrap(bytearray(b"x")))
    if texts is not None:
        batch = kind.createRowBatch()
        column = get_field(batch, "cols")[0]
        for at, text in enumerate(texts):
            column.setVal(at, bytearray(text.encode()))
        set_field(batch, "size", len(texts))
        writer.addRowBatch(batch)
    writer.close()


def data_of_first_stripe(spark: SparkSession, path: Path) -> tuple[int, int]:
    """Return where the streams of values begin and end in a file."""
    jvm: Any = spark._jvm
    options = jvm.org.apache.orc.OrcFile.readerOptions(jvm.org.apache.hadoop.conf.Configuration())
    reader = jvm.org.apache.orc.OrcFile.createReader(jvm.org.apache.hadoop.fs.Path(str(path)), options)
    stripe = reader.getStripes().get(0)
    reader.close()
    first = stripe.getOffset() + stripe.getIndexLength()
    return first, first + stripe.getDataLength()
