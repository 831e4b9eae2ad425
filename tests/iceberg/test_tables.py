"""Tables of a real Iceberg, encrypted with our keys: what they show, who reads them, and which are plaintext."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.iceberg import iceberg_job
from tests.support.processes import result_of
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from pathlib import Path

VERSIONS = iceberg_job.VERSIONS
HERE = VERSIONS.get(SPARK_VERSION, []) if os.environ.get("PME_TEST_ALL") else VERSIONS.get(SPARK_VERSION, [])[:1]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HERE, reason="there is no Iceberg for this Spark"),
    pytest.mark.oldest,
]

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
        self.done: dict[str, Any] = result_of(iceberg_job, str(work), version)
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
    assert [name for name in done if name.startswith("step ")] == []
    assert done["people"] == PEOPLE
    assert done["first"] == sorted(repr((at, f"ssn-{at}", at * 1.5)) for at in range(10))
    assert done["filtered"] == ["(99,)"]
    assert done["compacted"] == [f"({len(PEOPLE)},)"]
    assert done["all manifests"] == ["(True,)"]
    assert done["python rows"] == ["('ssn-300',)"]


def test_nothing_is_readable_of_a_table_in_hive_s_catalog(encrypting: Ran) -> None:
    done = encrypting.done
    for table in ("people", "ctas", "avro"):
        assert done[f"{table} readable"] == []
        found = encrypting.check(f"db.db/{table}")
        # Hashes of a column are in names of directories.
        assert kinds(found) == ({"partition value"} if table == "people" else set())
        assert found.key == iceberg_job.KEY
    assert all(begin.endswith(("b'PARE'", "b'AGS1'", "b'{\"fo'")) for begin in done["people files"])
    # The search finds secrets where they are readable.
    assert done["hadoop readable"]


def test_the_driver_calls_the_kms_once_for_a_key(encrypting: Ran) -> None:
    assert encrypting.done["calls"] == [{iceberg_job.KEY: 1}, {iceberg_job.KEY: 1}]


def test_a_rotated_master_key_opens_old_and_new_snapshots_and_its_old_version_must_stay(encrypting: Ran) -> None:
    done = encrypting.done
    assert (done["rotated"], done["rotated first"]) == (["(11,)"], ["(10,)"])
    # Iceberg wraps a table's key once, and does not wrap it again. Each of two catalogs unwraps it.
    assert done["rotated calls"] == [[1], [1, 1]]
    assert done["rotated fresh"] == [1, 2]
    condition, message = done["rotated lost"]
    assert (condition, iceberg_job.KEY in message) == ("PME_KEY_NOT_FOUND", True)
    assert done["rotated kept"] == ["(10,)"]
    assert done["rotated readable"] == []


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
        for what in ("reads", "writes"):
            found, message = encrypting.done[f"{name} {what}"]
            assert (found, text in message) == (condition, True), (name, what, message)
    assert encrypting.done["lacking creates"][0] == "PME_KEY_NOT_FOUND"


def test_the_key_is_named_on_creation_in_version_3_and_stays(encrypting: Ran) -> None:
    for step, text in {
        "key removed": "Cannot remove key ID",
        "key changed": "Cannot modify key ID",
        "late": "Cannot modify key ID",
        "v2": "Invalid properties for v2",
        "no version": "Invalid properties for v2",
    }.items():
        assert text in encrypting.done[step][1], step


def test_what_procedures_write_in_plaintext_is_found(encrypting: Ran) -> None:
    done = encrypting.done
    assert done["kept readable"] == []
    assert done["expire_snapshots"] == ["(11,)"]
    assert not any("Obj" in begin for begin in done["expire_snapshots files"])
    found = encrypting.check("db.db/kept")
    assert kinds(found) >= {"ignored key", "plaintext file", "statistics", "puffin"}
    with_keys = {"plaintext manifest", "data keys"}
    # Iceberg 1.12 encrypts what this procedure writes.
    plain = encrypting.numbers < (1, 12)
    assert any("Obj" in begin for begin in done["rewrite_manifests files"]) == plain
    assert kinds(found) & with_keys == (with_keys if plain else set())


def test_files_of_other_formats_are_encrypted_or_not_written(encrypting: Ran) -> None:
    done = encrypting.done
    assert done["avro"] == ["(10,)"]
    assert (done["orc"], done["orc written"][1]) == (["(0,)"], "Native ORC encryption is not supported")
    # Nothing of ORC was written: its failed write leaves no file that a search could find readable.
    assert not any("ORC" in begin for begin in done["orc files"])
    assert done["vectors readable"] == []
    assert done["vectors files"]
    if encrypting.numbers >= (1, 12):
        assert done["vectors"] == ["(8,)"]
    else:
        # Iceberg 1.11 does not find the key of a deletion vector.
        condition, message = done["vectors"]
        assert message
        # It is not our client that fails.
        assert not condition.startswith("PME_"), done["vectors"]
    assert kinds(encrypting.check("db.db/vectors")) == set()


def test_a_key_that_a_catalog_ignores_is_found(ran: Ran) -> None:
    tables = ["db/people"] if ran.numbers >= (1, 11) else ["db/people", "db.db/people", "db.db/ctas"]
    for table in tables:
        found = ran.check(table)
        assert kinds(found) >= {"ignored key", "plaintext file", "statistics"}
        assert found.key


@pytest.mark.skipif(not os.environ.get("PME_TEST_ALL"), reason="make test-all runs this")
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
    done = encrypting.done
    outcome = done[f"operated: {step}"]
    # An error is a condition and a message.
    assert all(row.startswith("(") for row in outcome), outcome
    assert rows is None or outcome == [f"({rows},)"]
    assert done[f"operated: {step} readable"] == []
    begins = done[f"operated: {step} files"]
    assert begins
    assert all(begin.endswith(("b'PARE'", "b'AGS1'", "b'{\"fo'")) for begin in begins), begins
    assert kinds(encrypting.check("db.db/operated")) == set()


@pytest.mark.skipif(not os.environ.get("PME_TEST_ALL"), reason="make test-all runs this")
def test_a_merge_by_deletion_vectors_leaves_nothing_readable(encrypting: Ran) -> None:
    done = encrypting.done
    for step in ("merged", "merged: rewritten"):
        assert done[f"{step} readable"] == []
        assert done[f"{step} files"]
    assert kinds(encrypting.check("db.db/merged")) == set()
    if encrypting.numbers >= (1, 12):
        assert done["merged: rows"] == ["(11, 11)"]
    else:
        # Iceberg 1.11 does not find the key of a deletion vector.
        assert not done["merged: rows"][0].startswith(("PME_", "("))
