"""What the bytes on the disk show: the files' magic bytes, and canaries that must not appear in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from demo_parts.tables import Copy

ENCRYPTED_FOOTER = b"PARE"
MAGIC_BYTES = 4
SAMPLE = 40


def all_files(directory: Path) -> list[Path]:
    """Return every file under the directory, including hidden files and checksums."""
    return sorted(path for path in directory.rglob("*") if path.is_file())


def parquet_files(directory: Path) -> list[Path]:
    """Return the files that hold data."""
    return [path for path in all_files(directory) if path.suffix == ".parquet"]


def size(directory: Path) -> int:
    """Return the bytes of the data files."""
    return sum(path.stat().st_size for path in parquet_files(directory))


def magic(file: Path) -> bytes:
    """Return a file's last four bytes: PAR1, or PARE if the footer is encrypted."""
    with file.open("rb") as opened:
        opened.seek(-MAGIC_BYTES, 2)
        return opened.read()


def canaries(spark: SparkSession, source: Copy) -> list[str]:
    """Return names, addresses and phone numbers of some customers, and names of columns."""
    people = source.read(spark, "customer").select("c_name", "c_address", "c_phone")
    rows = [*people.orderBy("c_name").limit(SAMPLE).collect(), *people.orderBy("c_phone").limit(SAMPLE).collect()]
    return ["c_phone", "o_totalprice", *sorted({str(value) for row in rows for value in row})]


def readable(directory: Path, values: Iterable[str]) -> set[str]:
    """Return the values that are readable anywhere in any file under the directory."""
    wanted = {value: value.encode() for value in values}
    found: set[str] = set()
    for path in all_files(directory):
        content = path.read_bytes()
        found |= {value for value, raw in wanted.items() if raw in content}
    return found


def tamper(file: Path, target: Path) -> Path:
    """Copy one file and change one bit in the middle of it."""
    target.mkdir(parents=True, exist_ok=True)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    altered = target / "altered.parquet"
    altered.write_bytes(content)
    return altered
