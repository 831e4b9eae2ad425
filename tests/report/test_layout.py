"""The parts of a drawn file follow one another from its first byte to its last, where independent readers find them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from pme_parquet._access import Access
from pme_parquet._report.facts import gather
from pme_parquet._report.keyed import Keyed
from pme_parquet._report.layout import UNKNOWN, Layout, Part, complete
from tests.report.settings import KEYS, KMS, LAYOUT
from tests.support import tables
from tests.support.canary import data_files
from tests.support.expect import save
from tests.support.files import tails, thrift
from tests.support.files.anatomy import CRYPTO_METADATA, NO_PAGE, WITH_COLUMN_KEY, Anatomy, Chunk
from tests.support.findings import name_of
from tests.support.frames import people
from tests.support.interop import arrow_files, arrow_kms
from tests.support.interop.modes import CTR, GCM, Mode
from tests.support.interop.samples import arrow_frame
from tests.support.kms.denied import Guarded

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession


def drawn(path: Path, keyed: Keyed | None = None) -> Layout:
    """Return the layout of one file, which must cover all of it."""
    [layout] = gather(str(path), Access(None, ""), keyed).layouts
    assert layout.parts[0].offset == 0
    assert all(part.length > 0 for part in layout.parts)
    assert [part.offset for part in layout.parts[1:]] == [part.end for part in layout.parts[:-1]]
    assert layout.parts[-1].end == layout.bytes == path.stat().st_size
    return layout


def with_keys(spark: SparkSession, path: Path) -> Layout:
    options = KMS | {"algorithm": CTR, "plaintextFiles": "allow"}
    layout = drawn(path, Keyed(spark, str(path), None, options, None))
    assert (layout.note, unknown(layout.parts)) == ("", 0)
    return layout


def unknown(parts: Iterable[Part]) -> int:
    return sum(part.length for part in parts if part.kind == UNKNOWN)


def as_taken_apart(path: Path) -> set[tuple[object, ...]]:
    """Return the modules that the tests' own reader finds with the keys, and the key of each."""
    file = Anatomy(path.read_bytes())
    return {
        (name_of(m.kind), m.offset, m.size, key_of(chunk), chunk.row_group, None if m.page == NO_PAGE else m.page)
        for chunk in file.chunks
        for m in chunk.modules
    }


def key_of(chunk: Chunk) -> str | None:
    """Return the master key of a chunk of `KEYS`."""
    crypto = thrift.get(chunk.fields, CRYPTO_METADATA)
    if not crypto:
        return None
    own = {"name": "pii", "ssn": "pii", "salary": "pay"}
    return own[chunk.name] if crypto[0][0] == WITH_COLUMN_KEY else "footer"


def as_drawn(layout: Layout) -> set[tuple[object, ...]]:
    parts = (part for part in layout.parts if part.column is not None)
    return {(part.kind, part.offset, part.length, part.key, part.row_group, part.page) for part in parts}


@pytest.mark.parametrize(
    "mode",
    [{}, {"plaintextFooter": "true", "unlistedColumns": "plaintext"}, {"algorithm": CTR}],
    ids=["encrypted footer", "signed footer", "CTR"],
)
def test_files_of_spark_have_the_modules_that_an_independent_reader_finds(
    spark: SparkSession, target: str, mode: dict[str, str]
) -> None:
    save(people(spark, count=1000).coalesce(1), target, KMS | KEYS | LAYOUT | mode)
    [path] = data_files(target)
    layout = with_keys(spark, path)
    assert as_drawn(layout) == as_taken_apart(path)
    kinds = {part.kind for part in layout.parts}
    assert {"dictionary page", "data page header", "column index", "offset index"} <= kinds
    assert "Bloom filter bitset" in kinds or "unlistedColumns" in mode
    assert {part.row_group for part in layout.parts} >= {0, 1}
    assert ("plaintext" in {part.state for part in layout.parts if part.column}) == ("unlistedColumns" in mode)


@pytest.mark.parametrize("algorithm", [GCM, CTR])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_files_of_pyarrow_have_the_modules_that_an_independent_reader_finds(
    spark: SparkSession, tmp_path: Path, algorithm: str, version: str
) -> None:
    path = tmp_path / "a.parquet"
    arrow_files.write(
        arrow_files.table(3000), path, algorithm, data_page_version=version, data_page_size=2000, write_batch_size=100
    )
    assert as_drawn(with_keys(spark, path)) == as_taken_apart(path)


def arrow_places(path: Path) -> set[tuple[object, ...]]:
    """Return PyArrow's places of the chunks of a file with a readable footer."""
    metadata = pq.ParquetFile(path).metadata
    places: set[tuple[object, ...]] = set()
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(number)
            start = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
            places.add((group, chunk.path_in_schema, start, chunk.total_compressed_size))
    return places


def chunks(layout: Layout) -> set[tuple[object, ...]]:
    """Return the place of each chunk's pages."""
    found: dict[tuple[int | None, str | None], list[Part]] = {}
    for part in layout.parts:
        if part.column is not None and "page" in part.kind:
            found.setdefault((part.row_group, part.column), []).append(part)
    return {(*key, parts[0].offset, parts[-1].end - parts[0].offset) for key, parts in found.items()}


@pytest.mark.parametrize("index", [True, False], ids=["with indexes", "without"])
def test_plaintext_files_are_laid_out_as_pyarrow_reads_them_with_and_without_a_session(
    spark: SparkSession, tmp_path: Path, *, index: bool
) -> None:
    path = tmp_path / "a.parquet"
    flat = pa.table({"id": range(5000), "name": [f"name-{number % 70}" for number in range(5000)]})
    pq.write_table(
        flat,
        path,
        row_group_size=1500,
        data_page_size=2000,
        write_batch_size=100,
        use_dictionary=["name"],
        write_page_index=index,
    )
    for layout in (drawn(path), with_keys(spark, path)):
        assert chunks(layout) == arrow_places(path)
        assert {part.state for part in layout.parts} == {"plaintext", "frame"}
        assert unknown(layout.parts) == 0
    assert any(part.kind == "data page" and (part.page or 0) > 3 for part in layout.parts)


def test_signed_footers_show_where_chunks_lie_and_which_key_each_has(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    mode = Mode(uniform=False, plaintext_footer=True, algorithm=GCM, bits=128, external=False, double_wrapping=True)
    arrow_kms.write(arrow_frame(), path, mode)
    layout = drawn(path)
    seen = {column.name: column for column in pme.inspect(path).files[0].columns or ()}
    for (column, key, state), length in layout.of_columns().items():
        own = seen[column].key
        assert (state == "encrypted", key) == (own is not None, own and own.master_key)
        assert length == seen[column].compressed_bytes
    assert len(layout.of_columns()) == len(seen)
    assert unknown(layout.parts) == 0
    assert [part.length for part in layout.parts if part.kind == "signature of the footer"] == [28]


def test_encrypted_footers_hide_the_rest_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    arrow_files.write(arrow_files.table(100), path)
    file = Anatomy(path.read_bytes())
    _, body, crypto, footer, end = drawn(path).parts
    assert (body.state, body.offset, body.end) == ("hidden", 4, file.footer_at)
    assert (crypto.state, crypto.offset, crypto.end) == ("plaintext", file.footer_at, file.footer_module.offset)
    assert (footer.state, footer.key, footer.length) == ("encrypted", "footer", file.footer_module.size)
    assert end.length == 8


def test_columns_whose_keys_are_refused_are_not_drawn_and_the_others_are(spark: SparkSession, target: str) -> None:
    tables.write(people(spark).coalesce(1), target, pme.PythonKms(tables.Remembering()))
    [path] = data_files(target)
    layout = drawn(path, Keyed(spark, str(path), pme.PythonKms(Guarded("pii")), None, None))
    keys = {part.key for part in layout.parts if part.column}
    assert keys == {"footer", "pay"}
    assert unknown(layout.parts) > 0


def test_a_footer_that_does_not_open_is_drawn_as_without_keys(spark: SparkSession, target: str) -> None:
    tables.write(people(spark).coalesce(1), target, pme.PythonKms(tables.Remembering()))
    [path] = data_files(target)
    layout = drawn(path, Keyed(spark, str(path), pme.PythonKms(Guarded("footer")), None, None))
    assert layout.parts == drawn(path).parts
    assert "PME_KEY_DENIED" in layout.note


def test_pages_beyond_the_limit_are_shown_as_one(
    spark: SparkSession, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(people(spark, count=1000).coalesce(1), target, KMS | KEYS | LAYOUT)
    [path] = data_files(target)
    whole = with_keys(spark, path)
    monkeypatch.setattr("pme_parquet._report.keyed.MOST_PAGES", 10)
    few = drawn(path, Keyed(spark, str(path), None, KMS, None))
    assert sum(part.kind in {"data page", "dictionary page"} for part in few.parts) == 10
    together = [part for part in few.parts if part.kind == "pages"]
    assert together
    assert all(any(one.offset == part.offset for one in whole.parts) for part in together)


def test_any_parts_are_completed_to_the_whole_file() -> None:
    chance = random.Random(5)  # noqa: S311 not for keys
    for _ in range(2000):
        size = chance.randrange(1, 200)
        parts = [Part("x", chance.randrange(-20, 220), chance.randrange(-20, 90), "encrypted") for _ in range(6)]
        whole = complete(parts, size)
        assert whole[0].offset == 0
        assert [part.offset for part in whole[1:]] == [part.end for part in whole[:-1]]
        assert whole[-1].end == size
        assert all(part in parts for part in whole if part.kind == "x")


@pytest.mark.parametrize("offset", [-5, 0, 3, 10**15, -(2**63)])
@pytest.mark.parametrize("size", [0, 7, 2**62])
def test_impossible_places_leave_the_rest_of_the_file_intact(tmp_path: Path, offset: int, size: int) -> None:
    [metadata] = [field for field in tails.column(b"a", size=size) if field.number == 3]
    metadata.value.append(thrift.Field(9, thrift.I64, offset))
    path = tmp_path / "a"
    path.write_bytes(tails.readable([tails.column(b"b"), [metadata]], groups=3))
    drawn(path)
