"""Copies of encrypted tables under new data keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._encryption import Encryption
from pme_parquet._hook import install_errors
from pme_parquet.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._kms import Kms


@dataclass(frozen=True)
class Rekeyed:
    """What `rekey` wrote: files, their rows and pages, and their size."""

    files: int
    rows: int
    pages: int
    bytes: int


def rekey(  # noqa: PLR0913 source and target, and how to open and to close them
    spark: SparkSession,
    source: str,
    target: str,
    enc: Encryption,
    kms: Kms | str | None = None,
    *,
    options: Mapping[str, str] | None = None,
) -> Rekeyed:
    """Copy a table under new data keys, and the keys, column sets and modes of `enc`, without decoding it.

    Pages are decrypted and encrypted, never decompressed; schema, metadata, statistics, indexes, Bloom filters and
    partition directories stay as they are. Each new file is opened with its new keys before `target` comes into being,
    all at once.

    Example:
        pme.rekey(spark, "/data/people", "/data/people-2", pme.Encryption(kms=keys, uniform_key="k"), kms=old_keys)

    Args:
        spark: a classic session; what runs is a Spark job of one task per file.
        source: the table's directory, or a file.
        target: where there is nothing yet, or an empty directory.
        enc: how the copy is encrypted.
        kms: where the source's master keys live; those of `enc` if it is left out.
        options: of the format, to read the source with: `aadPrefix`, `plaintextFiles`, `clearLevels` and others.

    Raises:
        PmeError: what is wrong with the source, the keys or the target. There is then no target.
    """
    install_errors()
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        message = (
            "pme.rekey: it cannot run in this session, because it needs the driver's JVM in this process, and over "
            "Spark Connect the driver is another one. Run it from a classic session."
        )
        raise UnsupportedError(message)
    write = enc.options()
    reader = enc if kms is None else Encryption(kms=kms)
    read = reader._kms_options() | dict(options or {})  # noqa: SLF001 ours
    session: Any = spark._jsparkSession  # noqa: SLF001 PySpark has no public way to it
    done = jvm.io.pmeparquet.spark.admin.Rekey.run(session, source, target, read, write)
    return Rekeyed(done.files(), done.rows(), done.pages(), done.bytes())
