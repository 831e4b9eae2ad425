"""Encrypted ORC in tests: master keys that ORC's memory provider and ours have, and reads and writes with either."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.canary import files_under, find_canaries
from tests.support.frames import SIMPLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

PII, PAY, TURNED = "orc_pii", "orc_pay", "orc_turned"
# By name and version. The lengths are those of ORC's two algorithms.
MASTERS = {
    (PII, 0): bytes((at * 11 + 37) % 256 for at in range(16)),
    (PAY, 0): bytes((at * 13 + 74) % 256 for at in range(32)),
    (TURNED, 0): bytes((at * 17 + 5) % 256 for at in range(32)),
    (TURNED, 2): bytes((at * 19 + 9) % 256 for at in range(16)),
}
MEMORY = {"orc.key.provider": "memory"}
# Of each type that Spark writes to ORC, as SQL over `id`.
TYPES = SIMPLE | {
    "decimal_small": "CAST(id * 1.25 AS DECIMAL(9, 2))",
    "decimal_large": "CAST(concat('12345678901234567890.', id) AS DECIMAL(38, 18))",
    "day_second": "make_dt_interval(CAST(id AS INT), 3, 4, 5.678901)",
}
VECTORIZED = "spark.sql.orc.enableVectorizedReader"
NESTED = "spark.sql.orc.enableNestedColumnVectorizedReader"
every_decoder = pytest.mark.parametrize("vectorized", ["true", "false"])
CODECS = ["none", "zlib", "snappy", "zstd", "lz4", "lzo"]

_KNOWN: set[str] = set()


def lines(names: Iterable[str] | None = None, **others: bytes) -> str:
    """Return lines of ``kms.static.keys``: the master keys of these names, or all, and others in their place."""
    held = {
        name if version == 0 else f"{name}@{version}": key
        for (name, version), key in MASTERS.items()
        if names is None or name in names
    }
    held |= others
    return "".join(f"{name}={b64encode(key).decode()}\n" for name, key in held.items())


def static(directory: Path, names: Iterable[str] | None = None, **others: bytes) -> dict[str, str]:
    """Return options of a KMS that has these keys."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"keys-{len(list(directory.glob('keys-*')))}.txt"
    path.write_text(lines(names, **others))
    return {"kms": "static", "kms.static.keys": f"file:{path}"}


def know_keys(spark: SparkSession) -> None:
    """Give the master keys to ORC's memory provider, which is one for the whole JVM."""
    application = spark.sparkContext.applicationId
    if application in _KNOWN:
        return
    jvm: Any = spark._jvm
    conf = _no_settings(spark)
    conf.set("orc.key.provider", "memory")
    provider = jvm.org.apache.orc.impl.CryptoUtils.getKeyProvider(conf, jvm.java.security.SecureRandom())
    algorithms = jvm.org.apache.orc.EncryptionAlgorithm
    by_length = {16: algorithms.AES_CTR_128, 32: algorithms.AES_CTR_256}
    for (name, version), key in MASTERS.items():
        provider.addKey(name, version, by_length[len(key)], bytearray(key))
    _KNOWN.add(application)


def reader(spark: SparkSession, file: Path) -> Any:
    """Return ORC's own reader of a file."""
    jvm: Any = spark._jvm
    options = jvm.org.apache.orc.OrcFile.readerOptions(_no_settings(spark))
    return jvm.org.apache.orc.OrcFile.createReader(jvm.org.apache.hadoop.fs.Path(str(file)), options)


def _no_settings(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.hadoop.conf.Configuration(False)  # noqa: FBT003 - Java has no names of arguments


def files(root: Path | str) -> list[Path]:
    """Return the ORC files that a reader would see, in order."""
    return sorted(
        path
        for path in files_under(root)
        if path.suffix == ".orc" and not any(part.startswith(("_", ".")) for part in path.relative_to(root).parts)
    )


def assert_no_canaries(root: Path | str, canaries: Iterable[str | int]) -> None:
    """Fail if a canary is readable under root, or if there is no ORC file that could contain one."""
    assert files(root), f"nothing was written under {root}, so nothing was searched"
    assert find_canaries(root, canaries) == []


def save(frame: DataFrame, path: str, options: Mapping[str, str], **more: str) -> None:
    """Write with ``pme-orc``."""
    frame.write.format("pme-orc").options(**{**options, **more}).save(path)


def save_by_spark(frame: DataFrame, path: str, encrypt: str, **more: str) -> None:
    """Write with Spark's own ``orc`` and the memory provider."""
    frame.write.format("orc").options(**{**MEMORY, "orc.encrypt": encrypt, **more}).save(path)


def read(spark: SparkSession, path: str, options: Mapping[str, str], **more: str) -> DataFrame:
    """Read with ``pme-orc``."""
    return spark.read.format("pme-orc").options(**{**options, **more}).load(path)


def read_by_spark(spark: SparkSession, path: str) -> DataFrame:
    """Read with Spark's own ``orc`` and the memory provider."""
    return spark.read.format("orc").options(**MEMORY).load(path)


def read_without_keys(spark: SparkSession, path: str) -> DataFrame:
    """Read with Spark's own ``orc`` as who names no key provider, and so masks."""
    forget_hadoops_keys(spark)
    return spark.read.format("orc").load(path)


def forget_hadoops_keys(spark: SparkSession) -> None:
    """Make ORC create its provider for Hadoop's keys again. It keeps one for the whole JVM, and takes it by default."""
    jvm: Any = spark._jvm
    field = jvm.java.lang.Class.forName("org.apache.orc.impl.CryptoUtils").getDeclaredField("keyProviderCache")
    field.trySetAccessible()
    field.get(None).remove("hadoop.java.security.SecureRandom")


def rows(frame: DataFrame) -> list[str]:
    return sorted(repr(row) for row in frame.collect())


def every_type(spark: SparkSession, count: int = 10) -> DataFrame:
    """Return a frame with a column of each type that Spark writes to ORC."""
    columns = [f"{value} AS `{name}`" for name, value in TYPES.items()]
    return spark.range(0, count, 1, 1).selectExpr("id", *columns)


def alternating(columns: Iterable[str]) -> dict[str, list[str]]:
    """Return columns under two keys, one after the other."""
    listed = list(columns)
    return {PII: listed[::2], PAY: listed[1::2]}


def text(keys: Mapping[str, Iterable[str]], separator: str = ": ") -> str:
    """Return keys and columns as ``columnKeys``, and without the space as ``orc.encrypt``."""
    return "; ".join(f"{key}{separator}{', '.join(columns)}" for key, columns in keys.items())


def encrypt(keys: Mapping[str, Iterable[str]]) -> str:
    """Return keys and columns as ``orc.encrypt``."""
    return ";".join(f"{key}:{','.join(columns)}" for key, columns in keys.items())
