"""Other programs that run the vectors. Each says what it does not support by its own documents, and reads the rest."""

from __future__ import annotations

import json
import os
import re
import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pyspark

from tests.support import archive, java
from tests.support.interop.arrow_files import LocalKms
from tests.vectors.index import FOLDER, Case, Rows

if TYPE_CHECKING:
    from collections.abc import Mapping


MAPS = ("scores",)
ARROW_RS = "PME_VECTORS_ARROW_RS"


class Reader:
    """A program that reads encrypted files. The first of ``lacking`` that a case has is why it is not run."""

    title = ""
    lacking: ClassVar[Mapping[str, str]] = {}

    def version(self) -> str:
        return version(self.title.lower())

    def unsupported(self, case: Case) -> str | None:
        """Return why the program cannot open a case, as its documents say."""
        return next((why for feature, why in self.lacking.items() if feature in case.features), None)

    def read(self, case: Case) -> Rows:
        """Return the rows of a case, or raise what the program raises."""
        raise NotImplementedError


class PyArrow(Reader):
    """Wrapped keys by its key tools, others by its low-level API."""

    title = "PyArrow"

    def unsupported(self, case: Case) -> str | None:
        if case.is_wrapped:
            return "its key tools take no AAD prefix" if case.aadPrefix else None
        return None if not case.columnKeys else "from Python, raw keys of columns cannot be given"

    def read(self, case: Case) -> Rows:
        return as_json(pq.ParquetFile(case.file, decryption_properties=self.properties(case)).read().to_pylist())

    def properties(self, case: Case) -> Any:
        if not case.is_wrapped:
            prefix = case.aadPrefix.encode() if case.aadPrefix else None
            return pe.create_decryption_properties(bytes.fromhex(case.footerKey or ""), aad_prefix=prefix)
        where = {"parquet_file_path": str(case.file)} if "external" in case.keyMetadata else {}
        factory = pe.CryptoFactory(lambda _: LocalKms(case.key))
        return factory.file_decryption_properties(pe.KmsConnectionConfig(), **where)


NO_WRAPPED = "it takes data keys and unwraps none"


class Polars(Reader):
    """Raw keys. Of a case with wrapped keys it is given the data keys."""

    title = "Polars"
    lacking: ClassVar = {"AES_GCM_CTR_V1": "AES_GCM_CTR_V1", "Key192": "keys of 192 bits"}

    def unsupported(self, case: Case) -> str | None:
        return super().unsupported(case) or (None if case.footerKey else NO_WRAPPED)

    def read(self, case: Case) -> Rows:
        import polars as pl

        decryption = pl.ParquetDecryptionProperties(
            footer_key=bytes.fromhex(case.footerKey or ""),
            column_keys={path: bytes.fromhex(key) for path, key in case.columnKeys.items()} or None,
            aad_prefix=case.aadPrefix.encode() if case.aadPrefix else None,
        )
        return as_json(pl.read_parquet(case.file, decryption=decryption).to_dicts())


class DuckDB(Reader):
    """One raw key for a whole file."""

    title = "DuckDB"
    lacking: ClassVar = {
        "AES_GCM_CTR_V1": "AES_GCM_CTR_V1",
        "PlaintextFooter": "plaintext footers with a signature",
        "ColumnKeys": "keys of columns",
        "PlaintextColumns": "plaintext columns",
        "SuppliedAadPrefix": "AAD prefixes",
        "StoredAadPrefix": "AAD prefixes",
        "NestedColumns": "nested columns",
        "ManyPages": "chunks of several pages",
        "BloomFilter": "encrypted Bloom filters",
        "V2Pages": "encrypted V2 pages",
    }

    def unsupported(self, case: Case) -> str | None:
        return super().unsupported(case) or (None if case.footerKey else NO_WRAPPED)

    def read(self, case: Case) -> Rows:
        import duckdb

        with duckdb.connect() as connection:
            key = bytes.fromhex(case.footerKey or "").decode()
            connection.execute(f"PRAGMA add_parquet_key('k', '{key}')")
            source = f"read_parquet('{case.file}', encryption_config = {{footer_key: 'k'}})"
            found: Any = connection.execute(f"select * from {source}")
            names = [column[0] for column in found.description]
            return as_json([dict(zip(names, row, strict=True)) for row in found.fetchall()])


class Program(Reader):
    """A program that reads all cases, and prints a line of JSON for each: its rows, or a text that says why not."""

    answers: Mapping[str, Any] | None = None

    def command(self) -> list[str]:
        """Return how to start it; the last argument is the folder of the vectors."""
        raise NotImplementedError

    def read(self, case: Case) -> Rows:
        if self.answers is None:
            done = subprocess.run(self.command(), stdout=subprocess.PIPE, text=True, check=True, timeout=300)
            self.answers = {one["id"]: one["rows"] for one in map(json.loads, done.stdout.splitlines())}
        answer = self.answers[case.id]
        if isinstance(answer, str):
            raise OSError(answer)
        return as_json(answer)


class ParquetJava(Program):
    """parquet-java without Spark: wrapped keys by its key tools."""

    title = "parquet-java"

    def __init__(self, classes: Path) -> None:
        java.compile_to(classes, FOLDER / "VectorsReader.java")
        self.classes = classes
        self.jars = Path(pyspark.__path__[0]) / "jars"

    def version(self) -> str:
        return next(self.jars.glob("parquet-hadoop-*.jar")).stem.removeprefix("parquet-hadoop-")

    def command(self) -> list[str]:
        # Spark's own jars are not needed.
        jars = [jar for jar in self.jars.glob("*.jar") if not jar.name.startswith("spark-")]
        path = os.pathsep.join(map(str, [self.classes, *jars]))
        return [str(java.java()), *archive.OPTIONS.split(), "-cp", path, "VectorsReader", str(FOLDER)]


class ArrowRs(Program):
    """arrow-rs, with raw keys. Cargo builds the program, which the environment names."""

    title = "arrow-rs"
    lacking: ClassVar = Polars.lacking

    def version(self) -> str:
        found = re.search(r'parquet = .*"=([0-9.]+)"', (FOLDER / "arrow-rs" / "Cargo.toml").read_text())
        return found[1] if found else ""

    def unsupported(self, case: Case) -> str | None:
        return super().unsupported(case) or (None if case.footerKey else NO_WRAPPED)

    def command(self) -> list[str]:
        return [os.environ[ARROW_RS], str(FOLDER)]


def as_json(rows: list[dict[str, Any]]) -> Rows:
    """Return rows as JSON has them; maps are lists of pairs."""
    return [plain(row) for row in rows]


def pairs(value: Any) -> Any:
    """Return a map's entries by their keys: programs have maps in forms of their own, and Spark's have no order."""
    return plain(sorted(value.items() if isinstance(value, dict) else value)) if value is not None else None


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {name: pairs(one) if name in MAPS else plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def available(classes: Path) -> list[Reader]:
    """Return the readers that are installed here."""
    readers: list[Reader] = [ParquetJava(classes), PyArrow()]
    optional: list[Reader] = [Polars(), DuckDB()]
    return (
        readers
        + [one for one in optional if find_spec(one.title.lower())]
        + ([ArrowRs()] if os.environ.get(ARROW_RS) else [])
    )
