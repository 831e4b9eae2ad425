"""Tables of a real Iceberg, encrypted with our keys: what they show, who reads them, and which are plaintext."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.iceberg import iceberg_job
from tests.support import needs
from tests.support.processes import result_of
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from pathlib import Path

VERSIONS = iceberg_job.VERSIONS
HERE = VERSIONS.get(SPARK_VERSION, [])[: None if needs.ALL else 1]
pytestmark = [pytest.mark.slow, needs.iceberg, pytest.mark.oldest, pytest.mark.nightly]

PEOPLE = sorted(
    repr((at, f"ssn-{at}", salary, None))
    for at, salary in {
        **{at: at * 1.5 for at in range(10) if at not in {1, 7}},
        8: 0.0,
        99: 1.0,
        100: 2.0,
        200: 3.0,
    }.items()
)


class Ran:
    """What came of a job with a version of Iceberg, and where its tables are."""

    def __init__(self, work: Path, version: str) -> None:
        self.numbers = tuple(map(int, version.split(".")))
        self.result = result_of(iceberg_job, iceberg_job.Result, str(work), version)
        self.done, self.looked = self.result.done, self.result.looked
        self._work = work

    def check(self, table: str) -> pme.iceberg.IcebergCheck:
        return pme.iceberg.check(self._work / "warehouse" / table)


@pytest.fixture(scope="module", params=HERE)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("iceberg"), request.param)


@pytest.fixture
def encrypting(ran: Ran) -> Ran:
    if ran.numbers < (1, 11):
        pytest.skip("no catalog of this Iceberg encrypts")
    return ran


def kinds(found: pme.iceberg.IcebergCheck) -> set[str]:
    assert "ssn-" not in str(found.to_dict())
    return {one.kind for one in found.findings if one.severity != "note"}


def test_statements_and_time_travel_return_the_rows(ran: Ran) -> None:
    done = ran.done
    assert done["people"].rows == PEOPLE
    assert done["first"].rows == sorted(repr((at, f"ssn-{at}", at * 1.5)) for at in range(10))
    assert done["filtered"].rows == ["(99,)"]
    assert done["compacted"].rows == [f"({len(PEOPLE)},)"]
    assert done["all manifests"].rows == ["(True,)"]
    assert done["python rows"].rows == ["('ssn-300',)"]


def test_nothing_is_readable_of_a_table_in_hive_s_catalog(encrypting: Ran) -> None:
    looked = encrypting.looked
    assert encrypting.done["avro"].rows == ["(10,)"]
    for table in ("people", "ctas", "avro"):
        assert looked[table].readable == []
        found = encrypting.check(f"db.db/{table}")
        # Hashes of a column are in names of directories.
        assert kinds(found) == ({"partition value"} if table == "people" else set())
        assert found.key == iceberg_job.KEY
    assert all(begin.endswith(("b'PARE'", "b'AGS1'", "b'{\"fo'")) for begin in looked["people"].files)
    # The search finds secrets where they are readable.
    assert looked["hadoop"].readable


def test_the_driver_calls_the_kms_once_for_a_key(encrypting: Ran) -> None:
    assert encrypting.result.calls == iceberg_job.Calls({iceberg_job.KEY: 1}, {iceberg_job.KEY: 1})


def test_a_rotated_master_key_opens_old_and_new_snapshots_and_its_old_version_must_stay(encrypting: Ran) -> None:
    done, looked = encrypting.done, encrypting.looked
    assert (done["rotated"].rows, done["rotated first"].rows) == (["(11,)"], ["(10,)"])
    # Iceberg wraps a table's key once, and does not wrap it again. Each of two catalogs unwraps it.
    assert encrypting.result.turned == iceberg_job.Turned([1], [1, 1], created=[2])
    lost = done["rotated lost"]
    assert (lost.condition, iceberg_job.KEY in lost.message) == ("PME_KEY_NOT_FOUND", True)
    assert done["rotated kept"].rows == ["(10,)"]
    assert looked["rotated"].readable == []


def test_a_session_without_the_key_neither_reads_nor_writes(encrypting: Ran) -> None:
    expected = {
        "stranger": ("PME_NOT_AUTHENTIC", "'table-key'"),
        "lacking": ("PME_KEY_NOT_FOUND", "'table-key'"),
        "denied": ("PME_KEY_DENIED", "'table-key'"),
        "down": ("PME_KMS_UNAVAILABLE", "could not be reached"),
        "unset": ("PME_KMS_UNAVAILABLE", "env:PME_TEST_NOT_SET"),
        "misspelt": ("PME_UNKNOWN_OPTION", "kms.static.keys"),
        "without": ("IllegalArgumentException", "encryption.kms-impl"),
    }
    for name, (condition, text) in expected.items():
        for what in ("reads", "writes") if name in iceberg_job.WRITERS else ("reads",):
            found = encrypting.done[f"{name} {what}"]
            assert (found.condition, text in found.message) == (condition, True), (name, what, found)
    assert encrypting.done["lacking creates"].condition == "PME_KEY_NOT_FOUND"


def test_the_key_is_named_on_creation_in_version_3_and_stays(encrypting: Ran) -> None:
    for step, text in {
        "key removed": "Cannot remove key ID",
        "key changed": "Cannot modify key ID",
        "late": "Cannot modify key ID",
        "v2": "Invalid properties for v2",
        "no version": "Invalid properties for v2",
    }.items():
        assert text in encrypting.done[step].message, step


@needs.test_all
def test_what_procedures_write_in_plaintext_is_found(encrypting: Ran) -> None:
    done, looked = encrypting.done, encrypting.looked
    assert looked["kept"].readable == []
    assert done["expire_snapshots"].rows == ["(11,)"]
    assert not any("Obj" in begin for begin in looked["expire_snapshots"].files)
    found = encrypting.check("db.db/kept")
    assert kinds(found) >= {"ignored key", "plaintext file", "statistics", "puffin"}
    with_keys = {"plaintext manifest", "data keys"}
    # Iceberg 1.12 encrypts what this procedure writes.
    plain = encrypting.numbers < (1, 12)
    assert any("Obj" in begin for begin in looked["rewrite_manifests"].files) == plain
    assert kinds(found) & with_keys == (with_keys if plain else set())


@needs.test_all
def test_orc_is_not_written_and_deletion_vectors_are_encrypted(encrypting: Ran) -> None:
    done, looked = encrypting.done, encrypting.looked
    assert done["orc"].rows == ["(0,)"]
    assert done["orc written"].message == "Native ORC encryption is not supported"
    # Nothing of ORC was written: its failed write leaves no file that a search could find readable.
    assert not any("ORC" in begin for begin in looked["orc"].files)
    assert looked["vectors"].readable == []
    assert looked["vectors"].files
    if encrypting.numbers >= (1, 12):
        assert done["vectors"].rows == ["(8,)"]
    else:
        # Iceberg 1.11 does not find the key of a deletion vector.
        assert done["vectors"].message
        # It is not our client that fails.
        assert not done["vectors"].condition.startswith("PME_"), done["vectors"]
    assert kinds(encrypting.check("db.db/vectors")) == set()


def test_a_key_that_a_catalog_ignores_is_found(ran: Ran) -> None:
    tables = ["db/people"] if ran.numbers >= (1, 11) else ["db/people", "db.db/people", "db.db/ctas"]
    for table in tables:
        found = ran.check(table)
        assert kinds(found) >= {"ignored key", "plaintext file", "statistics"}
        assert found.key


@needs.test_all
@pytest.mark.parametrize(
    ("step", "rows"),
    [
        ("branch", None),
        ("branch rows", 11),
        ("tag", 10),
        ("fast forward", None),
        ("append", None),
        ("rollback", None),
        ("rolled back rows", 10),
        ("rewrite_data_files", None),
        ("remove_orphan_files", None),
        ("expire_snapshots", None),
        ("streamed", 11),
    ],
)
def test_other_operations_leave_nothing_readable(encrypting: Ran, step: str, rows: int | None) -> None:
    outcome, looked = encrypting.done[f"operated: {step}"], encrypting.looked[f"operated: {step}"]
    assert outcome.rows is not None, outcome
    assert rows is None or outcome.rows == [f"({rows},)"]
    assert looked.readable == []
    begins = looked.files
    assert begins
    assert all(begin.endswith(("b'PARE'", "b'AGS1'", "b'{\"fo'")) for begin in begins), begins
    assert kinds(encrypting.check("db.db/operated")) == set()


@needs.test_all
def test_a_merge_by_deletion_vectors_leaves_nothing_readable(encrypting: Ran) -> None:
    done, looked = encrypting.done, encrypting.looked
    for step in ("merged", "merged: rewritten"):
        assert looked[step].readable == []
        assert looked[step].files
    assert kinds(encrypting.check("db.db/merged")) == set()
    if encrypting.numbers >= (1, 12):
        assert done["merged: rows"].rows == ["(11, 11)"]
    else:
        # Iceberg 1.11 does not find the key of a deletion vector.
        assert done["merged: rows"].condition
        assert not done["merged: rows"].condition.startswith("PME_")
