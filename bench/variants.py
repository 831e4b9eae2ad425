"""The compared variants: formats, readers and settings, and the copy of the tables on disk that each reads."""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import pme_parquet as pme
from bench import jars
from bench.meter import JAVA_OPTIONS
from bench.outsiders import KEY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PME = "pme-parquet"
DIRECT = {"keyManagement": "direct"}
FOOTER_KEY, COLUMN_KEY, DIRECT_KEY = "footer", "pay", "direct"
CRYPTO_FACTORY = "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"

SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
}


@dataclass(frozen=True)
class Variant:
    """One side of a comparison. ``copy`` is the folder of the files it writes and reads."""

    name: str
    title: str
    copy: str
    format: str = "parquet"
    read: Mapping[str, str] = field(default_factory=dict)
    write: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    engine: Literal["spark", "pyarrow", "duckdb"] = "spark"

    def write_options(self, encrypted: tuple[str, ...]) -> dict[str, str]:
        """Return the options to write a table in which some columns have a key of their own."""
        names = ",".join(encrypted)
        return {name: value.replace("{columns}", names) for name, value in self.write.items()}


def variants(data: Path, downloads: Path) -> dict[str, Variant]:
    """Return every variant that this machine can run. Keys are made once and stored beside the files they encrypt."""
    keys = master_keys(data / "keys.json")
    static = static_keys(keys, data / "keys.txt")
    found = [plain(), *builtin(keys, downloads), *ours(static, downloads), *outsiders(keys)]
    return {variant.name: variant for variant in found}


def static_keys(keys: Mapping[str, str], listed: Path) -> pme.Static:
    """Write these keys to a file, and return the KMS that reads them from it."""
    listed.write_text("".join(f"{name}={base64.b64encode(key.encode()).decode()}\n" for name, key in keys.items()))
    return pme.Static(pme.file(listed))


def plain() -> Variant:
    """Spark's own Parquet without encryption."""
    return Variant("plain", "Spark, plaintext", "plain")


def builtin(keys: Mapping[str, str], downloads: Path) -> list[Variant]:
    """Spark's own Parquet with parquet-java's encryption, as Spark's documentation sets it up."""
    kms = jars.mock_kms(downloads)
    listed = ", ".join(f"{name}:{base64.b64encode(key.encode()).decode()}" for name, key in keys.items())
    settings = {
        "spark.driver.extraClassPath": str(kms.jar),
        "spark.hadoop.parquet.crypto.factory.class": CRYPTO_FACTORY,
        "spark.hadoop.parquet.encryption.kms.client.class": kms.name,
        "spark.hadoop.parquet.encryption.key.list": listed,
    }
    write = {
        "parquet.encryption.footer.key": FOOTER_KEY,
        "parquet.encryption.column.keys": f"{COLUMN_KEY}:{{columns}}",
        "parquet.encryption.complete.columns": "true",
    }
    return [
        Variant(
            f"builtin-{mode}",
            f"Spark, built-in {mode.upper()}",
            f"builtin-{mode}",
            write=write | {"parquet.encryption.algorithm": algorithm},
            settings=settings,
        )
        for mode, algorithm in (("gcm", "AES_GCM_V1"), ("ctr", "AES_GCM_CTR_V1"))
    ]


def ours(kms: pme.Static, downloads: Path) -> list[Variant]:
    """Return pme-parquet with each reader, with Amazon's provider, and on files that outsiders can read."""
    settings = pme.spark_config()
    pages, spark = (kms.options() | {"reader": reader} for reader in ("pages", "spark"))
    write = pme.Encryption(kms=kms, footer_key=FOOTER_KEY, column_keys=f"{COLUMN_KEY}: {{columns}}").options()
    direct = pme.Encryption(kms=kms, uniform_key=DIRECT_KEY, key_management="direct").options()
    found = [
        Variant("pme", "pme-parquet", "pme", PME, pages, write, settings),
        Variant("pme-spark", "pme-parquet, reader=spark", "pme", PME, spark, write, settings),
        Variant("pme-uniform", "pme-parquet, one key", "uniform", PME, pages | DIRECT, direct, settings),
    ]
    provider = jars.corretto(downloads)
    if provider is not None:
        on_path = settings | {"spark.driver.extraClassPath": str(provider)}
        found.append(Variant("pme-accp", "pme-parquet, ACCP", "pme", PME, pages, write, on_path))
    return found


def outsiders(keys: Mapping[str, str]) -> list[Variant]:
    """Engines without our code, on plaintext and on the files of one key."""
    key = {KEY: keys[DIRECT_KEY]}
    return [
        Variant("pyarrow-plain", "PyArrow, plaintext", "plain", engine="pyarrow"),
        Variant("duckdb-plain", "DuckDB, plaintext", "plain", engine="duckdb"),
        Variant("pyarrow", "PyArrow, one key", "uniform", read=key, engine="pyarrow"),
        Variant("duckdb", "DuckDB, one key", "uniform", read=key, engine="duckdb"),
    ]


def master_keys(file: Path) -> dict[str, str]:
    """Return the keys of the copies in this directory, 16 letters each: DuckDB takes a key unchanged only as text."""
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(json.dumps({name: secrets.token_hex(8) for name in (FOOTER_KEY, COLUMN_KEY, DIRECT_KEY)}))
    keys: dict[str, str] = json.loads(file.read_text())
    return keys
