"""A flipped bit in any part of any module is found in its place, and nothing else is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.files import forge, thrift
from tests.support.files.anatomy import (
    BLOOMS,
    INDEXES,
    LENGTH,
    NO_PAGE,
    NONCE,
    OFFSET_INDEX,
    PAGE_HEADERS,
    PAGES,
    REGIONS,
    TAG,
    Anatomy,
    Kind,
    Module,
    place,
)
from tests.support.files.bend import NONCE_BYTES
from tests.support.files.writers import KINDS, written
from tests.support.files.writers import Kind as FileKind
from tests.support.interop.modes import CTR, GCM
from tests.support.session import TEST_KMS
from tests.verify.findings import DAMAGED, NOT_AUTHENTIC, Found, at, files, has_checksum, tagged, untagged, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

UNIFORM = [FileKind("uniform", algorithm, plain) for algorithm in (GCM, CTR) for plain in (False, True)]
every_kind = pytest.mark.parametrize("kind", [*KINDS, *UNIFORM], ids=str)


@pytest.fixture(scope="module")
def file_of(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[FileKind], Anatomy]:
    """Return a function that writes a file of a kind on its first use."""
    made: dict[FileKind, Anatomy] = {}

    def file(kind: FileKind) -> Anatomy:
        if kind not in made:
            made[kind] = Anatomy(content(spark, kind, tmp_path_factory.mktemp("originals") / str(kind)))
        return made[kind]

    return file


def content(spark: SparkSession, kind: FileKind, directory: Path) -> bytes:
    if kind.writer != "uniform":
        return written(spark, kind, directory)
    options = {
        "kms": TEST_KMS,
        "uniformKey": "footer",
        "algorithm": kind.algorithm,
        "plaintextFooter": str(kind.plain_footer).lower(),
    }
    return written(spark, kind._replace(writer="ours"), directory, options=options)


def options(kind: FileKind) -> dict[str, str]:
    return {"kms": TEST_KMS, "algorithm": kind.algorithm}


def flipped(file: Anatomy, modules: Iterable[Module], content: bytes | None = None) -> bytes:
    """Return the file with a flipped bit in the encrypted content of each of the modules."""
    bent = file.content if content is None else content
    for module in modules:
        bent = forge.flip(bent, place(module, "ciphertext"))
    return bent


def regions(module: Module) -> list[str]:
    return [region for region in REGIONS if region != TAG or not module.seal.ctr]


def expected(file: Anatomy, module: Module, region: str) -> list[list[Found]]:
    """Return the possible findings for a flipped bit in one part of a module."""
    if module.seal.ctr and region != LENGTH:
        # Without a tag only a checksum detects this, which not every writer makes.
        return [[at(file, module, DAMAGED)] if has_checksum(file, module) else []]
    # An impossible length is damage; a possible one is that of another module.
    conditions = (DAMAGED, NOT_AUTHENTIC) if region == LENGTH else (NOT_AUTHENTIC,)
    return [[at(file, module, condition)] for condition in conditions]


# The second kind has a signed footer.
@pytest.mark.rows(2)
@every_kind
def test_a_flipped_bit_is_found_in_every_module_and_nothing_in_an_undamaged_file(
    spark: SparkSession, tmp_path: Path, file_of: Callable[[FileKind], Anatomy], kind: FileKind
) -> None:
    file = file_of(kind)
    files(tmp_path / "whole", {"a.parquet": file.content, "b.parquet": file.content})
    found, opened = verify(spark, tmp_path / "whole", options=options(kind))
    assert found == {}
    assert (opened.files, opened.modules) == (2, 2 * tagged(file))
    assert opened.untagged_pages == 2 * len(untagged(file))
    assert (opened.skipped_files, opened.skipped_pages, opened.sample) == (0, 0, None)
    # Tails of less than 64 KiB are read only once.
    assert opened.bytes == 2 * len(file.content)
    bent = {
        f"{number}-{region}.parquet": (module, region)
        for number, module in enumerate(file.modules)
        for region in regions(module)
    }
    contents = {name: forge.flip(file.content, place(*which)) for name, which in bent.items()}
    files(tmp_path / "table", contents)
    found, _ = verify(spark, tmp_path / "table", options=options(kind))
    wrong = {
        f"{region} of {module}": found.get(name, [])
        for name, (module, region) in bent.items()
        if found.get(name, []) not in expected(file, module, region)
    }
    assert wrong == {}
    assert {module.kind for module in file.modules} >= {*PAGES, *PAGE_HEADERS, *INDEXES}
    assert set(BLOOMS) <= {module.kind for module in file.modules} or kind.writer == "arrow"


@every_kind
def test_a_flipped_bit_is_found_in_the_metadata_of_a_column_and_in_a_signature(
    spark: SparkSession, tmp_path: Path, file_of: Callable[[FileKind], Anatomy], kind: FileKind
) -> None:
    file, contents, whole = file_of(kind), {}, {}
    for name in ("name", "salary"):
        chunk = file.named(name, row_group=1)
        if not thrift.get(chunk.fields, 9):
            continue
        sealed = forge.sealed_metadata(chunk.fields)
        module = Module(Kind.COLUMN_METADATA, 1, chunk.column, NO_PAGE, 0, len(sealed), file.footer_seal)
        for region in REGIONS:
            bent = f"{name}-{region}.parquet"
            contents[bent] = forge.with_sealed_metadata(file, chunk, forge.flip(sealed, place(module, region)))
            whole[bent] = [at(file, module, DAMAGED if region == LENGTH else NOT_AUTHENTIC)]
    if file.plain_footer:
        signature = file.footer_module
        for part, offset in ((NONCE, NONCE_BYTES - 1), (TAG, NONCE_BYTES)):
            contents[f"{part}.parquet"] = forge.flip(file.content, signature.offset + offset)
            whole[f"{part}.parquet"] = [at(file, signature, NOT_AUTHENTIC)]
    if contents:
        files(tmp_path / "table", contents)
        found, _ = verify(spark, tmp_path / "table", options=options(kind))
        assert found == whole
    else:
        assert (kind.writer, kind.plain_footer) == ("uniform", False)


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[4], KINDS[8]], ids=str)
def test_without_an_offset_index_pages_are_found_by_the_lengths_before_them(
    spark: SparkSession, tmp_path: Path, file_of: Callable[[FileKind], Anatomy], kind: FileKind
) -> None:
    file = file_of(kind)
    chunk = file.named("note")
    without = forge.with_footer(file, forge.in_chunk(chunk, lambda fields: thrift.drop(fields, *OFFSET_INDEX)))
    headers, pages = chunk.of(Kind.DATA_PAGE_HEADER), chunk.of(Kind.DATA_PAGE)
    assert len(pages) > 1
    salary = file.named("salary").of(Kind.DATA_PAGE)[0]
    both = [headers[0], pages[0], pages[1], salary]
    contents = {
        "whole.parquet": without,
        "header.parquet": flipped(file, [headers[0]], without),
        "both.parquet": flipped(file, both, without),
        "last.parquet": flipped(file, [headers[-1]], without),
        # Then nothing shows where the next page is, but all of the other columns is opened.
        "two headers.parquet": flipped(file, [*headers, pages[1], salary], without),
        "length.parquet": flipped(file, [salary], forge.flip(without, headers[0].offset)),
    }
    files(tmp_path / "table", contents)
    found, _ = verify(spark, tmp_path / "table")
    lost = at(file, headers[0], NOT_AUTHENTIC)
    other = at(file, salary, NOT_AUTHENTIC)
    assert found == {
        "header.parquet": [lost],
        "both.parquet": [at(file, module, NOT_AUTHENTIC) for module in both],
        "last.parquet": [at(file, headers[-1], NOT_AUTHENTIC)],
        "two headers.parquet": [lost, other],
        "length.parquet": [lost, other],
    }
    rows = pme.verify(spark, tmp_path / "table", options={"kms": TEST_KMS}).collect()
    ended = {row.file.rpartition("/")[2] for row in rows if "The pages after it were not opened" in row.message}
    assert ended == {"two headers.parquet", "length.parquet"}
