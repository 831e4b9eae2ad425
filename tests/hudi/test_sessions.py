"""Tables of a real Hudi in sessions with our crypto factory: what is readable, what is found, and what is refused."""

from __future__ import annotations

import gzip
import re
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.hudi import hudi_job
from tests.hudi.hudi_job import CANARY, PARTITION, Result
from tests.support import needs
from tests.support.canary import files_under
from tests.support.processes import result_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    # Hudi has 80 MB.
    needs.test_all,
    needs.hudi,
    pytest.mark.oldest,
]

PATIENCE = 900
COLUMNS = ["ssn", "id"]
GZIP = re.compile(rb"\x1f\x8b\x08")
PARQUET_ENCRYPTED = b"PARE"


class Ran:
    """What came of the jobs, and where their tables are."""

    def __init__(self, work: Path) -> None:
        old = work / "old"
        old.mkdir()
        self.leaks = result_of(hudi_job, Result, str(old), "leaks", patience=PATIENCE).done
        self.done = result_of(hudi_job, Result, str(work), "recipe", "refused", "keys", patience=PATIENCE).done
        self.old, self.tables = old / "tables", work / "tables"

    def refused(self, *steps: str) -> dict[str, str]:
        """Return the messages of steps that were refused, without a value of a table."""
        for step in steps:
            assert self.done[step].condition == "PME_UNSUPPORTED", (step, self.done[step])
            assert CANARY not in self.done[step].message, step
        return {step: self.done[step].message for step in steps}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("hudi"))


def readable(place: Path, text: str) -> list[str]:
    """Return the files in which a text is readable, in the bytes, in the name, or in a block that gzip compressed."""
    assert place.is_dir()
    return [
        str(path.relative_to(place))
        for path in files_under(place)
        if text in str(path.relative_to(place)) or any(text.encode() in part for part in _parts(path.read_bytes()))
    ]


def _parts(content: bytes) -> Iterator[bytes]:
    yield content
    for found in GZIP.finditer(content):
        with suppress(zlib.error):
            yield zlib.decompressobj(31).decompress(content[found.start() :])


def kinds(place: Path, columns: list[str] | None = None) -> set[tuple[str, str]]:
    found = pme.hudi.check(place, columns or COLUMNS)
    assert CANARY not in str(found.to_dict())
    assert PARTITION not in str(found.to_dict()).replace(str(place), "")
    return {(one.severity, one.kind) for one in found.findings}


TABLES = ["people", "clustered", "archived", "made", "streamed"]


def test_copy_on_write_tables_are_changed_and_read(ran: Ran) -> None:
    done = ran.done
    writes = ("bulk_insert", "upsert", "delete", "evolve", "cluster", "stream", *(f"archive {n}" for n in range(6)))
    for step in (*writes, "update", "delete where", "merge", "insert"):
        assert done[step].rows == [], step
    assert done["rows"].rows == done["incremental"].rows == ["14"]
    assert done["travel"].rows == ["(10,)"]
    assert done["names"].rows == ["('m', 1)", "('x', 11)", "('z', 1)"]
    assert [done[step].rows for step in ("clustered", "archived", "streamed")] == [["10"], ["4"], ["4"]]


@pytest.mark.parametrize("table", TABLES)
def test_only_values_of_partitions_are_readable_with_the_documented_settings(ran: Ran, table: str) -> None:
    place = ran.tables / table
    assert readable(place, CANARY) == []
    assert kinds(place) == {("note", "record key")}
    parquet = [path for path in files_under(place) if path.suffix == ".parquet"]
    assert {path.read_bytes()[-4:] for path in parquet} == {PARQUET_ENCRYPTED}
    # The search finds what is readable.
    assert bool(readable(place, PARTITION)) == (table not in {"made", "streamed"})
    if table not in {"made", "streamed"}:
        assert kinds(place, ["part"]) == {("high", "partition value")}


def test_the_archived_timeline_is_encrypted(ran: Ran) -> None:
    history = [path for path in (ran.tables / "archived" / ".hoodie").rglob("*.parquet") if "history" in path.parts]
    assert history


def test_what_hudi_stores_outside_of_encrypted_parquet_is_found(ran: Ran) -> None:
    expected = {
        "statistics": ("high", "statistics"),
        "merge_on_read": ("high", "log file"),
        "change_data": ("high", "log file"),
        "orc": ("high", "plaintext file"),
        "record_index": ("high", "record keys"),
        "bloom_filters": ("low", "Bloom filters"),
        "partition": ("high", "partition value"),
    }
    assert expected.keys() == hudi_job.DANGEROUS.keys()
    for name, finding in expected.items():
        assert ran.leaks[name].rows == [], (name, ran.leaks[name])
        assert finding in kinds(ran.old / name), name
        # A Bloom filter has no value as it is; ORC compresses in its own way.
        if name not in {"bloom_filters", "orc"}:
            assert readable(ran.old / name, CANARY), name


def test_writes_that_would_show_values_are_refused(ran: Ran) -> None:
    messages = ran.refused(*(f"frame {name}" for name in hudi_job.DANGEROUS if name != "partition"))
    assert "column_stats" in messages["frame statistics"]
    assert "MERGE_ON_READ" in messages["frame merge_on_read"]
    assert "cdc" in messages["frame change_data"]
    assert "not Parquet" in messages["frame orc"]
    assert "record.level.index" in messages["frame record_index"]
    assert "bloom.filter" in messages["frame bloom_filters"]
    assert "ssn" in ran.refused("frame partition")["frame partition"]
    assert "column_stats" in ran.refused("frame stream")["frame stream"]
    assert not any((ran.tables / name).exists() for name in (*hudi_job.DANGEROUS, "streaming", "sql_mor", "sql_cdc"))


def test_statements_that_would_show_values_are_refused(ran: Ran) -> None:
    statements = ("insert", "letters", "ctas", "update", "delete", "merge", "overwrite")
    for message in ran.refused(*(f"sql {name}" for name in statements)).values():
        assert "column_stats" in message
    ran.refused("sql index", "sql clustering", "sql compaction")
    assert "MERGE_ON_READ" in ran.refused("create mor")["create mor"]
    assert "cdc" in ran.refused("create cdc")["create cdc"]
    assert [ran.done[step].rows for step in ("inserted", "unharmed", "shown")] == [["(1,)"], ["(1,)"], []]
    assert readable(ran.tables / "cow", CANARY) == []


def test_what_counts_is_what_the_crypto_factory_finds(ran: Ran) -> None:
    for message in ran.refused("keys javas", "keys letters").values():
        assert "_hoodie_record_key" in message
    for name in ("javas_complete", "letters_footer"):
        assert ran.done[f"keys {name}"].rows == []
        assert readable(ran.tables / name, CANARY) == []
    # Hudi writes plaintext if only the session has the factory.
    for message in ran.refused("keys session", "keys factory").values():
        assert "Hudi asks the application" in message
    assert not any((ran.tables / name).exists() for name in ("javas", "letters", "of_session", "of_factory"))


def test_an_existing_merge_on_read_table_is_not_written(ran: Ran) -> None:
    for message in ran.refused("create old", "frame old").values():
        assert "MERGE_ON_READ" in message


def test_the_search_sees_into_compressed_blocks(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"xx" + gzip.compress(CANARY.encode()) + b"yy")
    assert readable(tmp_path, CANARY) == ["a"]
