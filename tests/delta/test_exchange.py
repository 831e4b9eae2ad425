"""What delta-rs (`deltalake`) and PyArrow do with encrypted tables of Delta: the rows of Spark, or an error."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from cryptography.exceptions import InvalidTag
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

import pme_parquet as pme
import pme_parquet.delta
from tests.delta import exchange_job, written
from tests.delta.delta_tables import CANARY
from tests.delta.exchange_job import Person
from tests.support import needs
from tests.support.interop.arrow_files import LocalKms
from tests.support.processes import result_of
from tests.support.session import static_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

needs_delta = [
    pytest.mark.slow,
    # The job starts a Spark of its own.
    needs.test_all,
    needs.sparks({(3, 5)}, "there is no Delta for this Spark here"),
]
# Each place of delta-rs and PyArrow has words of its own.
ENCRYPTED = "(?i)encrypt|decrypt"
CONNECTION = pe.KmsConnectionConfig()
FACTORY = pe.CryptoFactory(lambda _: LocalKms(static_key))


class Ran:
    """The rows that Spark reads, and the tables."""

    def __init__(self, work: Path) -> None:
        self.result = result_of(exchange_job, exchange_job.Result, str(work))
        self._tables = work / "tables"

    def path(self, name: str) -> Path:
        return self._tables / name

    def table(self, name: str) -> DeltaTable:
        return DeltaTable(str(self.path(name)))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("exchange"))


def files(table: DeltaTable) -> list[str]:
    return [str(uri).removeprefix("file://") for uri in table.file_uris()]


def arrow_rows(*paths: str) -> list[Person]:
    """Return the rows of files in one order, as PyArrow reads them with the master keys."""
    properties = FACTORY.file_decryption_properties(CONNECTION)
    found = [pq.ParquetFile(path, decryption_properties=properties).read() for path in paths]
    return people(pa.concat_tables(found))


def people(table: Any) -> list[Person]:
    return [Person(**row) for row in table.sort_by("id").to_pylist()]


def query(table: DeltaTable, text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pa.table(QueryBuilder().register("t", table).execute(text).read_all()).to_pylist()
    return found


class TestSparksTables:
    pytestmark = needs_delta

    def test_delta_rs_reads_the_log(self, ran: Ran) -> None:
        table = ran.table("people")
        assert table.version() == 3
        assert [field.name for field in table.schema().fields] == ["id", "ssn", "sick", "name"]
        assert len(files(table)) == 3
        assert [one["operation"] for one in table.history()] == ["DELETE", "WRITE", "WRITE", "CREATE TABLE"]
        assert len(files(DeltaTable(str(ran.path("people")), version=1))) == 1
        actions = pa.table(table.get_add_actions(flatten=True))
        assert sum(actions["num_records"].to_pylist()) == len(ran.result.rows["people"])
        assert [name for name in actions.column_names if name.startswith("min.")] == ["min.id"]

    def test_delta_rs_answers_without_opening_a_file_what_the_log_says(self, ran: Ran) -> None:
        for name in ("people", "mapped", "vectors"):
            table = ran.table(name)
            assert query(table, "SELECT count(*) AS n FROM t") == [{"n": len(ran.result.rows[name])}], name
            assert query(table, "SELECT count(*) AS n FROM t WHERE id > 1000") == [{"n": 0}], name
        assert ran.table("people").to_pyarrow_table(filters=[("id", ">", 1000)]).num_rows == 0

    def test_pyarrow_reads_each_live_file_with_the_keys(self, ran: Ran) -> None:
        paths = files(ran.table("people"))
        assert arrow_rows(*paths) == ran.result.rows["people"]

    def test_pyarrow_reads_all_live_files_as_one_dataset(self, ran: Ran) -> None:
        crypto = ds.ParquetDecryptionConfig(FACTORY, CONNECTION, pe.DecryptionConfiguration())
        form = ds.ParquetFileFormat(
            default_fragment_scan_options=ds.ParquetFragmentScanOptions(decryption_config=crypto)
        )
        found = ds.dataset(files(ran.table("people")), format=form)
        assert people(found.to_table()) == ran.result.rows["people"]
        wanted = f"{CANARY}-7"
        assert found.to_table(columns=["id"], filter=ds.field("ssn") == wanted).to_pylist() == [{"id": 7}]

    def test_pyarrow_shows_the_physical_names_of_columns(self, ran: Ran) -> None:
        [path] = files(ran.table("mapped"))
        assert arrow_rows(path) == ran.result.rows["mapped"]

    def test_pyarrow_reads_deleted_rows_until_the_deletion_vector_is_applied(self, ran: Ran) -> None:
        table = ran.table("vectors")
        [path] = files(table)
        rows = arrow_rows(path)
        assert len(rows) == len(ran.result.rows["vectors"]) + 1
        [vector] = pa.table(table.deletion_vectors().read_all()).to_pylist()
        assert vector["filepath"].endswith(path)
        live = [row for row, kept in zip(rows, vector["selection_vector"], strict=True) if kept]
        assert live == ran.result.rows["vectors"]

    @pytest.mark.parametrize(
        "read",
        [
            lambda table: table.to_pyarrow_table(),
            lambda table: table.to_pyarrow_table(columns=["id"]),
            lambda table: table.to_pandas(),
            lambda table: table.to_pyarrow_dataset().count_rows(),
            lambda table: query(table, "SELECT * FROM t"),
            lambda table: query(table, "SELECT id FROM t"),
            lambda table: query(table, "SELECT max(id) FROM t"),
        ],
    )
    @pytest.mark.parametrize("name", ["people", "mapped"])
    def test_delta_rs_does_not_open_an_encrypted_file(
        self, ran: Ran, name: str, read: Callable[[DeltaTable], object]
    ) -> None:
        with pytest.raises(Exception, match=ENCRYPTED):
            read(ran.table(name))

    def test_pyarrow_does_not_open_a_file_without_keys_or_with_others(self, ran: Ran) -> None:
        path = files(ran.table("people"))[0]
        with pytest.raises(OSError, match=ENCRYPTED):
            pq.read_table(path)
        other = pe.CryptoFactory(lambda _: LocalKms(lambda _: bytes(16))).file_decryption_properties(CONNECTION)
        with pytest.raises(InvalidTag):
            pq.ParquetFile(path, decryption_properties=other)

    @pytest.mark.parametrize("name", ["seen", "gone"])
    def test_delta_rs_does_not_open_a_table_with_an_encrypted_checkpoint(self, ran: Ran, name: str) -> None:
        # Spark reads it.
        assert ran.result.rows[name] == ran.result.rows["people"]
        with pytest.raises(DeltaError, match=ENCRYPTED):
            ran.table(name)

    def test_check_does_not_need_the_checkpoint_while_all_commits_are_there(self, ran: Ran) -> None:
        seen, gone = (pme.delta.check(ran.path(name), columns=["ssn"]) for name in ("seen", "gone"))
        assert (seen.ok, seen.looked_at["files live"]) == (True, 3)
        assert [one.severity for one in gone.findings if one.severity != "note"] == ["unread"]

    def test_an_append_by_delta_rs_is_plaintext_and_refused_and_found(self, ran: Ran) -> None:
        assert ran.result.done["appended read"].condition == "PME_PLAINTEXT_FILE"
        found = pme.delta.check(ran.path("appended"), columns=["ssn"])
        assert [one.kind for one in found.findings if one.severity == "high"] == ["plaintext file"]
        # PyArrow's key tools take it for one of the table.
        assert len(arrow_rows(*files(ran.table("appended")))) == 20

    def test_a_checkpoint_by_delta_rs_is_plaintext_and_refused(self, ran: Ran) -> None:
        [checkpoint] = ran.path("pointed").glob("_delta_log/*.checkpoint.parquet")
        assert CANARY.encode() not in checkpoint.read_bytes()
        found = ran.result.done["pointed read"]
        assert (found.condition, checkpoint.name in found.message) == ("PME_PLAINTEXT_FILE", True)

    @pytest.mark.parametrize(
        "change",
        [
            lambda table: table.delete("id = 5"),
            lambda table: table.update({"name": "'q'"}, predicate="id = 5"),
            lambda table: table.optimize.compact(),
            lambda table: table.optimize.z_order(["id"]),
            lambda table: (
                table.merge(pa.table({"id": [5]}), "s.id = t.id", source_alias="s", target_alias="t")
                .when_matched_delete()
                .execute()
            ),
        ],
        ids=["delete", "update", "compact", "z-order", "merge"],
    )
    def test_a_change_by_delta_rs_that_reads_rows_fails_and_changes_nothing(
        self, ran: Ran, tmp_path: Path, change: Callable[[DeltaTable], object]
    ) -> None:
        copy = shutil.copytree(ran.path("changed"), tmp_path / "copy")
        with pytest.raises(DeltaError, match="Failed to fetch metadata for file"):
            change(DeltaTable(str(copy)))
        left = DeltaTable(str(copy))
        assert left.version() == 3
        assert arrow_rows(*files(left)) == ran.result.rows["people"]


@pytest.fixture
def readable_footer(tmp_path: Path) -> Path:
    """Return a table with a file whose footer is readable, and whose column ``ssn`` has a key."""
    written.encrypted(tmp_path, "a.parquet", "s1", "s2", plaintext_footer=True)
    size = (tmp_path / "a.parquet").stat().st_size
    written.commit(tmp_path, 0, written.metadata(), written.add("a.parquet", {"numRecords": 2}, size=size))
    return tmp_path


def test_columns_without_keys_are_read_below_a_readable_footer(readable_footer: Path) -> None:
    table = DeltaTable(str(readable_footer))
    expected = [{"id": "0", "note": "x"}, {"id": "1", "note": "x"}]
    assert table.to_pyarrow_table(columns=["id", "note"]).sort_by("id").to_pylist() == expected
    assert query(table, "SELECT id, note FROM t ORDER BY id") == expected
    assert table.to_pyarrow_table(columns=["id"], filters=[("id", "=", "1")]).to_pylist() == [{"id": "1"}]


@pytest.mark.parametrize("columns", [None, ["ssn"], ["id", "ssn"]])
def test_a_column_with_a_key_is_an_error_below_a_readable_footer(readable_footer: Path, columns: Any) -> None:
    table = DeltaTable(str(readable_footer))
    with pytest.raises(OSError, match=ENCRYPTED):
        table.to_pyarrow_table(columns=columns)
    with pytest.raises(Exception, match="Required field type_ is missing"):
        query(table, f"SELECT {', '.join(columns or '*')} FROM t")
