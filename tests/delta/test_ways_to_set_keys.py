"""Every way to set keys for a table of a real Delta: it encrypts data and checkpoints, or the statement is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.delta import delta_tables, ways_job
from tests.delta.delta_ran import assert_refused
from tests.support import needs
from tests.support.canary import ENCRYPTED_FOOTER, MAGIC_LENGTH, files_under, find_canaries
from tests.support.metastore import Outcome
from tests.support.processes import result_of
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, needs.delta, pytest.mark.nightly]

PATIENCE = 600
FRAMES = ["save", "saveAsTable", "saveAsTable of a table", "writeTo create", "writeTo append", "stream", "toTable"]
SQL = ["insert", "plain", "overwrite", "delete", "update", "merge", "optimize", "restore", "clone", "select"]
NO_ROWS = list(ways_job.without_rows(""))
FIRST_KEYS = list(ways_job.with_first_keys("", ""))
KEYLESS = [*SQL, *NO_ROWS, "plain set", "save", "append", "stream"]
ENCRYPTED = [
    ("properties", "properties"),
    ("properties uniform", "properties_uniform"),
    *((f"columns {name}", f"columns_{name}") for name in ways_job.OF_COLUMNS),
    *((f"uniform {name}", f"uniform_{name}") for name in ways_job.UNIFORM),
]
STATISTICS = [*(f"columns {name}" for name in ways_job.OF_COLUMNS), *(f"uniform {name}" for name in ways_job.UNIFORM)]


class Ran:
    """What came of the job, and where its tables are."""

    def __init__(self, work: Path) -> None:
        self.done = result_of(ways_job, delta_tables.Result, str(work), patience=PATIENCE).done
        self.work = work

    def refused(self, prefix: str, condition: str, text: str) -> list[str]:
        """Return the steps with such a prefix, each of which must have been refused."""
        steps = [step for step in self.done if step.startswith(f"{prefix} ") or step == prefix]
        for step in steps:
            assert_refused(self.done[step], text, condition)
        return [step.removeprefix(f"{prefix} ") for step in steps]

    def table(self, name: str) -> Path:
        return self.work / "tables" / name


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("ways"))


@pytest.mark.parametrize("factory", ["with", "without"])
@pytest.mark.parametrize("keys", list(ways_job.OF_FRAMES))
def test_options_of_a_frame_are_refused_with_what_to_do(ran: Ran, factory: str, keys: str) -> None:
    steps = ran.refused(f"frame {factory} {keys}", "PME_BAD_OPTION", "parquet.encryption.footer.key")
    assert steps == FRAMES
    for name in ("saved", "streamed"):
        assert not list(files_under(ran.table(f"{name}_{factory}"))), name
    assert ran.done[f"rows_{factory}"].rows == ["(0,)"]


@pytest.mark.parametrize(("step", "name"), ENCRYPTED)
def test_data_and_checkpoints_are_encrypted(ran: Ran, step: str, name: str) -> None:
    assert ran.done[f"{step} create"].rows == ran.done[f"{step} insert"].rows == []
    table = ran.table(name)
    files = [file for file in files_under(table) if file.suffix == ".parquet"]
    checkpoints = [file for file in files if file.parent.name == "_delta_log"]
    assert (len(checkpoints), len(files)) == (1, 2)
    # A search does not see into compressed pages.
    assert {file.read_bytes()[-MAGIC_LENGTH:] for file in files} == {ENCRYPTED_FOOTER}
    assert find_canaries(table, [delta_tables.CANARY]) == []


@pytest.mark.parametrize("keys", STATISTICS)
def test_a_write_that_would_log_statistics_is_refused(ran: Ran, keys: str) -> None:
    assert ran.refused(f"loud {keys}", "PME_UNSUPPORTED", "minimum and maximum")
    table = ran.table(f"{keys.replace(' ', '_')}_loud")
    # The files of a refused commit stay until VACUUM.
    files = [file for file in files_under(table) if file.suffix == ".parquet"]
    assert {file.read_bytes()[-MAGIC_LENGTH:] for file in files} == {ENCRYPTED_FOOTER}
    assert find_canaries(table, [delta_tables.CANARY]) == []


@pytest.mark.parametrize("keys", ["properties", *ways_job.OF_COLUMNS])
def test_without_a_footer_key_in_the_session_every_write_is_refused(ran: Ran, keys: str) -> None:
    assert ran.refused(f"keyless {keys}", "PME_NO_KEY", "spark.hadoop.pme-parquet.footerKey") == KEYLESS
    assert not ran.table("keyless_made").exists()
    for name in ("keyless", "keyless_plain"):
        assert_nothing_written(ran, name)


def test_with_another_factory_writes_with_keys_are_refused(ran: Ran) -> None:
    steps = ran.refused("other", "PME_UNSUPPORTED", "the session's crypto factory is")
    kinds = ("save", "stream", "insert", "merge", "delete", "optimize", "restore", "clone", "select")
    names = (ways_job.OF_COLUMNS["java"], ways_job.UNIFORM["java"])
    of_session = [f"{what} {name}" for name in names for what in ("session", "convert")]
    assert steps == [*(f"properties {kind}" for kind in (*kinds, *NO_ROWS, *FIRST_KEYS)), *of_session]
    assert not ran.table("others_made").exists()
    assert not (ran.work / "parquet" / "_delta_log").exists()
    assert (ran.done["no keys"].rows, ran.done["no keys rows"].rows) == ([], ["(1, 'x')"])
    logged = {file.name for file in (ran.table("others") / "_delta_log").glob("*.parquet")}
    assert logged == {"00000000000000000001.checkpoint.parquet"}


def test_with_factory_and_footer_key_statements_without_rows_run_and_their_checkpoints_are_encrypted(ran: Ran) -> None:
    rows = {step: ran.done[f"complete {step}"].rows for step in NO_ROWS}
    [vacuumed] = rows.pop("vacuum") or []
    assert rows == {step: [] for step in rows}
    assert "complete" in vacuumed
    checkpoints = list((ran.table("complete") / "_delta_log").glob("*.checkpoint.parquet"))
    # VACUUM commits twice.
    assert len(checkpoints) >= len(NO_ROWS)
    assert {file.read_bytes()[-MAGIC_LENGTH:] for file in checkpoints} == {ENCRYPTED_FOOTER}


def test_a_table_with_keys_is_not_replaced_by_its_place_under_another_name(ran: Ran) -> None:
    if SPARK_VERSION >= (4, 0):
        assert ran.refused("by its place", "PME_UNSUPPORTED", "keep the table's columns encrypted") == ["by its place"]
    else:
        assert "truncate in batch mode" in ran.done["by its place"].message


def test_a_table_that_a_query_creates_or_replaces_is_encrypted(ran: Ran) -> None:
    created = ["selected", "nothing named", "created", *(["replaced with keys"] if SPARK_VERSION >= (4, 0) else [])]
    assert {step: ran.done[step] for step in created} == dict.fromkeys(created, Outcome([]))
    assert ran.done["created rows"].rows == ["(1,)"]
    files = [file for file in files_under(ran.table("selected")) if file.suffix == ".parquet"]
    assert [file for file in files if file.parent.name == "_delta_log"]
    assert {file.read_bytes()[-MAGIC_LENGTH:] for file in files} == {ENCRYPTED_FOOTER}
    assert find_canaries(ran.table("selected"), [delta_tables.CANARY]) == []
    assert ran.refused("planted", "PME_UNSUPPORTED", "choose where keys") == ["planted"]


def test_without_a_factory_every_commit_to_a_table_with_keys_is_refused(ran: Ran) -> None:
    of_api = ["upgraded", "with a feature", *(["without a feature"] if SPARK_VERSION >= (4, 0) else [])]
    steps = ran.refused("openly", "PME_UNSUPPORTED", "the session has no crypto factory")
    assert steps == [*NO_ROWS, *FIRST_KEYS, *of_api]
    assert not ran.table("openly_made").exists()
    for name in ("openly", "openly_plain"):
        assert_nothing_written(ran, name)
    assert len(ran.done["nothing changed"].rows or []) == 1


def test_keys_without_a_factory_write_no_table_without_keys(ran: Ran) -> None:
    assert ran.refused("half", "PME_BAD_OPTION", "parquet.crypto.factory.class") == ["insert", "create"]


def test_no_value_is_readable_anywhere(ran: Ran) -> None:
    assert find_canaries(ran.work / "tables", [delta_tables.CANARY]) == []


def assert_nothing_written(ran: Ran, name: str) -> None:
    table = ran.table(name)
    assert [file for file in files_under(table) if file.suffix == ".parquet"] == []
    assert find_canaries(table, [delta_tables.CANARY]) == []
