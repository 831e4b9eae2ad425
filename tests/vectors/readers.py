"""Other programs that run the vectors. Each is given every file whose keys its API takes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pyspark
from cryptography.exceptions import InvalidTag

from tests.support import archive, java
from tests.support.interop.arrow_files import LocalKms
from tests.vectors.index import FOLDER, Case, Rows

if TYPE_CHECKING:
    from collections.abc import Mapping


MAPS = ("scores",)
ARROW_RS = "PME_VECTORS_ARROW_RS"


class Reader:
    """A program that reads encrypted files."""

    title = ""
    # Words of its errors that say that it does not support what a file has.
    says: ClassVar[tuple[str, ...]] = ()
    # Features of valid files that it refuses with other words.
    fails: ClassVar[tuple[str, ...]] = ()

    def version(self) -> str:
        return version(self.title.lower())

    def refusals(self) -> tuple[type[BaseException], ...]:
        """Return what the program raises if it refuses a file. Anything else is a fault of the run."""
        raise NotImplementedError

    def not_run(self, case: Case) -> str | None:  # noqa: ARG002 -- of most programs, it depends on the case
        """Return why the program is not given a case."""
        return None

    def read(self, case: Case) -> Rows:
        """Return the rows of a case, or raise what the program raises."""
        raise NotImplementedError


class KmsRefusalError(Exception):
    """The KMS of a test does not unwrap a key."""


class Kms(LocalKms):
    """Says that it refuses."""

    def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
        try:
            return super().unwrap_key(wrapped_key, master_key_identifier)
        except (KeyError, ValueError, InvalidTag) as failed:
            raise KmsRefusalError(master_key_identifier) from failed


class PyArrow(Reader):
    """Wrapped keys by its key tools, others by its low-level API."""

    title = "PyArrow"

    def refusals(self) -> tuple[type[BaseException], ...]:
        return OSError, pa.ArrowException, KmsRefusalError

    def not_run(self, case: Case) -> str | None:
        # As the signatures of 26.0.1 have it: DecryptionConfiguration, and create_decryption_properties.
        if case.is_wrapped:
            return "its key tools take no AAD prefix" if case.aadPrefix else None
        if case.columnKeys:
            return "from Python, it takes no raw keys of columns"
        return None if case.footerKey else "from Python, it finds no keys by key metadata"

    def read(self, case: Case) -> Rows:
        return as_json(pq.ParquetFile(case.file, decryption_properties=self.properties(case)).read().to_pylist())

    def properties(self, case: Case) -> Any:
        if not case.is_wrapped:
            prefix = case.aadPrefix.encode() if case.aadPrefix else None
            return pe.create_decryption_properties(bytes.fromhex(case.footerKey or ""), aad_prefix=prefix)
        where = {"parquet_file_path": str(case.file)} if "external" in case.keyMetadata else {}
        factory = pe.CryptoFactory(lambda _: Kms(case.key))
        return factory.file_decryption_properties(pe.KmsConnectionConfig(), **where)


class RawKeys(Reader):
    """A program that takes data keys. Of a case with wrapped keys it is given those."""

    def not_run(self, case: Case) -> str | None:
        return None if case.footerKey else "it takes data keys, and finds or unwraps none"


class Polars(RawKeys):
    """Raw keys."""

    title = "Polars"
    says: ClassVar = ("algorithm is not yet supported", "unsupported key length")

    def refusals(self) -> tuple[type[BaseException], ...]:
        from polars.exceptions import PanicException, PolarsError

        return PolarsError, PanicException

    def read(self, case: Case) -> Rows:
        import polars as pl

        decryption = pl.ParquetDecryptionProperties(
            footer_key=bytes.fromhex(case.footerKey or ""),
            column_keys={path: bytes.fromhex(key) for path, key in case.columnKeys.items()} or None,
            aad_prefix=case.aadPrefix.encode() if case.aadPrefix else None,
        )
        return as_json(pl.read_parquet(case.file, decryption=decryption).to_dicts())


class DuckDB(RawKeys):
    """One raw key for a whole file. It says itself that it takes no keys of columns and no AAD prefix."""

    title = "DuckDB"
    says: ClassVar = (
        "only AES_GCM_V1 is supported",
        "column_keys not yet implemented",
        'Unknown key in encryption_config ""aad_prefix""',
    )
    # Observed on 29 November 2026 with 2.0.0: mostly "Computed AES tag differs from read AES tag".
    fails: ClassVar = (
        "PlaintextFooter",
        "PlaintextColumns",
        "StoredAadPrefix",
        "NestedColumns",
        "ManyPages",
        "BloomFilter",
    )

    def refusals(self) -> tuple[type[BaseException], ...]:
        import duckdb

        return (duckdb.Error,)

    def read(self, case: Case) -> Rows:
        import duckdb

        with duckdb.connect() as connection:
            key = bytes.fromhex(case.footerKey or "").decode()
            connection.execute(f"PRAGMA add_parquet_key('k', '{key}')")
            given = {"footer_key": "'k'"}
            if case.columnKeys:
                given["column_keys"] = f"{{k: {list(case.columnKeys)}}}"
            if case.aadPrefix:
                given["aad_prefix"] = f"'{case.aadPrefix}'"
            config = ", ".join(f"{name}: {value}" for name, value in given.items())
            source = f"read_parquet('{case.file}', encryption_config = {{{config}}})"
            found: Any = connection.execute(f"select * from {source}")
            names = [column[0] for column in found.description]
            return as_json([dict(zip(names, row, strict=True)) for row in found.fetchall()])


class RefusalError(Exception):
    """A program says that it refuses a file."""


class Program(Reader):
    """A program that reads all cases, and prints a line of JSON for each: its rows, or a text that says why not."""

    answers: Mapping[str, Any] | None = None

    def refusals(self) -> tuple[type[BaseException], ...]:
        return (RefusalError,)

    def command(self) -> list[str]:
        """Return how to start it; the last argument is the folder of the vectors."""
        raise NotImplementedError

    def read(self, case: Case) -> Rows:
        if self.answers is None:
            done = subprocess.run(self.command(), stdout=subprocess.PIPE, text=True, check=True, timeout=300)
            self.answers = {one["id"]: one["rows"] for one in map(json.loads, done.stdout.splitlines())}
        answer = self.answers[case.id]
        if isinstance(answer, str):
            raise RefusalError(answer)
        return as_json(answer)


class ParquetJava(Program):
    """parquet-java without Spark: wrapped keys by its key tools, keys that metadata name by a retriever."""

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


class ArrowRs(Program, RawKeys):
    """arrow-rs, with raw keys. Cargo builds the program, which the environment names."""

    title = "arrow-rs"
    says: ClassVar = Polars.says

    def version(self) -> str:
        found = re.search(r'parquet = .*"=([0-9.]+)"', (FOLDER / "arrow-rs" / "Cargo.toml").read_text())
        return found[1] if found else ""

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
