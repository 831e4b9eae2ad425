"""The findings of verification in a form to compare, and the expected ones for an altered module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pme_parquet as pme
from tests.support.files import thrift
from tests.support.files.anatomy import ENCRYPTED_METADATA, NO_PAGE, PAGES, Anatomy, Kind, Module
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

DAMAGED, NOT_AUTHENTIC = "PME_DAMAGED_FILE", "PME_NOT_AUTHENTIC"
CHECKSUM = 4


class Found(NamedTuple):
    """One finding, without its file and message."""

    row_group: int | None
    column: str | None
    page: int | None
    module: str | None
    condition: str


NAMES = {Kind.BLOOM_HEADER: "Bloom filter header", Kind.BLOOM_BITSET: "Bloom filter bitset"}


def name_of(kind: Kind) -> str:
    """Return the name that findings use for a kind of module."""
    return NAMES.get(kind, kind.name.lower().replace("_", " "))


def at(file: Anatomy, module: Module, condition: str) -> Found:
    """Return the finding of a module."""
    if module.kind == Kind.FOOTER:
        return Found(None, None, None, "footer", condition)
    [chunk] = [one for one in file.chunks if (one.row_group, one.column) == (module.row_group, module.column)]
    page = None if module.page == NO_PAGE else module.page
    return Found(module.row_group, chunk.name, page, name_of(module.kind), condition)


def verify(spark: SparkSession, path: Path | str, **given: Any) -> tuple[dict[str, list[Found]], pme.Opened]:
    """Return the findings of each file, by its name, and what was opened."""
    findings = pme.verify(spark, path, **({"options": {"kms": TEST_KMS}} | given))
    found: dict[str, list[Found]] = {}
    for row in findings.collect():
        assert row.message.startswith(row.file), row.message
        assert "[PME" not in row.message
        one = Found(row.row_group, row.column, row.page, row.module, row.condition)
        found.setdefault(row.file.rpartition("/")[2], []).append(one)
    return found, findings.opened


def files(directory: Path, contents: dict[str, bytes]) -> None:
    """Write files of these names."""
    directory.mkdir()
    for name, content in contents.items():
        (directory / name).write_bytes(content)


def tagged(file: Anatomy) -> int:
    """Return the number of tags of a file: of modules, of columns' metadata, and of a readable footer's signature."""
    metadata = [chunk for chunk in file.chunks if thrift.get(chunk.fields, ENCRYPTED_METADATA)]
    return sum(not module.seal.ctr for module in file.modules) + len(metadata) + file.plain_footer


def untagged(file: Anatomy) -> list[Module]:
    return [module for module in file.modules if module.seal.ctr]


def has_checksum(file: Anatomy, page: Module) -> bool:
    """Return whether the header of a page has the page's checksum."""
    assert page.kind in PAGES
    [header] = [module for module in file.modules if module.end == page.offset]
    return thrift.get(file.parsed(header), CHECKSUM) is not None
