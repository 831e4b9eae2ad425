"""Tables of a real Delta that sessions without keys have written: encrypted, rotated, or refused if they would leak."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from tests.delta import encrypt_job, encrypt_killed_job, encrypt_others
from tests.delta.delta_tables import CANARY
from tests.delta.encrypt_tables import Encrypted, EncryptResult
from tests.support import needs
from tests.support.canary import find_canaries
from tests.support.processes import result_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.delta.delta_tables import Checked

pytestmark = [pytest.mark.slow, needs.delta, pytest.mark.nightly]

# Delta's own work takes minutes: `make test-all` has the other parts.
SHORT = ("simple",)
PATIENCE = 3600


class Ran:
    """What came of the job, and where its tables are."""

    def __init__(self, work: Path) -> None:
        parts = [part for part in encrypt_job.PARTS if needs.ALL or part in SHORT]
        self.all = result_of(encrypt_job, EncryptResult, str(work), *parts, patience=PATIENCE)
        self.done, self.checks = self.all.done, self.all.checks
        self.tables = work / "tables"

    def result(self, step: str) -> Encrypted:
        assert step in self.all.encrypted, self.done[step]
        assert CANARY not in self.all.encrypted[step].text, step
        return self.all.encrypted[step]

    def live(self, name: str) -> list[bytes]:
        """Return the live files, as another implementation of Delta knows them."""
        files = DeltaTable(str(self.tables / name)).file_uris()
        return [self.tables.joinpath(name, file.rpartition(f"/{name}/")[2]).read_bytes() for file in files]

    def assert_encrypted(self, *names: str) -> None:
        for name in names:
            files = self.live(name)
            assert files, name
            assert {file[-4:] for file in files} == {b"PARE"}, name
            assert not any(CANARY.encode() in file for file in files), name

    def statistics(self, name: str) -> set[str]:
        """Return the columns that have a minimum in a live file's `add`, as another implementation reads it."""
        actions = DeltaTable(str(self.tables / name)).get_add_actions(flatten=True)
        return {column[4:] for column in actions.schema.names if column.startswith("min.")}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("delta"))


def high(found: Checked, of: str = "") -> list[tuple[str, str, str]]:
    """Return what a check found readable, in files that the log says this of."""
    return [
        (one.kind, one.column, one.file) for one in found.findings if one.severity == "high" and one.what.startswith(of)
    ]


def unread(found: Checked) -> list[tuple[str, str]]:
    return [(one.kind, one.file) for one in found.findings if one.severity == "unread"]


def test_check_opens_a_footer_that_hides_a_plaintext_column(ran: Ran) -> None:
    table, stray, closed, keyless = (
        ran.checks[f"check simple{more}"] for more in ("", " of a stray file", " without a session", " without the key")
    )
    assert high(table, "live") == []
    assert unread(table) == []
    assert high(stray, "not named") == [("plaintext column", "ssn", "stray.parquet")]
    assert stray.looked_at["footers opened"] == 1
    for found, why in ((closed, "check with spark= opens it"), (keyless, "did not open: PME_KEY_NOT_FOUND")):
        assert high(found, "not named") == []
        assert unread(found) == [("hidden columns", "stray.parquet")]
        assert why in next(one.what for one in found.findings if one.kind == "hidden columns")


@needs.test_all
def test_check_is_ok_after_the_advice_was_followed(ran: Ran) -> None:
    for step in ("check cleaned", "check cleaned of named columns"):
        found = ran.checks[step]
        assert (found.ok, found.live_by, found.looked_at["files live"]) == (True, "the session's Delta", 1)
        assert {one.kind for one in found.findings} == {"encrypted checkpoint"}
    # Nobody without keys knows what is live.
    closed = ran.checks["check cleaned without a session"]
    assert (closed.ok, closed.version, closed.live_by) == (False, None, "")
    assert unread(closed) == [("unsupported table", "")]


@needs.test_all
@pytest.mark.parametrize("step", ["name", "id", "whole", "rotated"])
def test_check_finds_nothing_readable_in_live_files(ran: Ran, step: str) -> None:
    found = ran.checks[f"check {step}"]
    assert high(found, "live") == []
    assert unread(found) == []
    assert high(found)  # of versions from before


@needs.test_all
def test_nothing_is_readable_after_the_advice_was_followed(ran: Ran) -> None:
    result = ran.result("cleaned")
    # The search finds values in plaintext before.
    before = ran.done["cleaned before"].rows or []
    assert any("_delta_log" in found for found in before)
    assert any(".parquet" in found for found in before)
    assert [step.split()[-1] for step in ran.done if step.startswith("cleaned: ")] == [
        "SET",
        "VACUUM",
        "RESET",
        "SET",
        "ALTER",
        "ALTER",
        "RESET",
    ]
    assert [step for step in ran.done if step.startswith("cleaned: ") and ran.done[step].rows is None] == []
    properties = "".join(ran.done["cleaned properties"].rows or [])
    assert "('delta.checkpointInterval', '7')" in properties
    assert "('delta.logRetentionDuration', 'interval 3 days')" in properties
    assert "('delta.deletedFileRetentionDuration', 'interval 1 days')" in properties
    assert find_canaries(ran.tables / "cleaned", [CANARY]) == []
    assert ran.done["cleaned rows"].rows == ["(7, 7, 25)"]
    assert (result.rows, result.columns["ssn"], result.columns["id"]) == (7, "pii", None)
    assert result.check
    assert result.check.columns == (
        "home.street",
        "home.zip",
        "jobs.element.pay",
        "notes.key",
        "notes.value",
        "ssn",
    )
    assert result.properties["delta.dataSkippingStatsColumns"] == "id,day"
    # The other implementation cannot read the encrypted checkpoint. Nothing but live files is left.
    files = [file.read_bytes() for file in (ran.tables / "cleaned").rglob("*.parquet")]
    assert {file[-4:] for file in files} == {b"PARE"}


def test_a_second_run_has_nothing_to_do(ran: Ran) -> None:
    first, second, appended = (ran.result(f"simple{step}") for step in ("", " again", " appended"))
    assert (first.files_rewritten, first.rows, second.files_rewritten, second.rows) == (3, 8, 0, None)
    assert second.version == second.version_before == first.version
    assert "nothing to do" in second.text
    # What the session itself has written since is encrypted.
    assert appended.version == first.version + 1
    assert "[PME_PLAINTEXT_FILE]" in ran.done["simple refused"].message
    assert ran.done["simple rows"].rows == ["(8, 8, 28)"]
    ran.assert_encrypted("simple")


def test_sql_encrypts_and_rotates_a_table_with_the_same_result(ran: Ran) -> None:
    assert ran.done["simple sql encrypt"].rows == ["(3, 8, 'pii', None)"]
    # Whatever is live is rewritten under new data keys.
    assert ran.done["simple sql rotate"].rows == ["(1, 8, 'pii', None)"]


@needs.test_all
@pytest.mark.parametrize("mode", ["name", "id"])
def test_nested_columns_are_found_by_their_physical_names(ran: Ran, mode: str) -> None:
    result = ran.result(mode)
    assert result.columns == {
        "id": None,
        "ssn": "pii",
        "day": None,
        "home.street": "pii",
        "home.zip": None,
        "jobs.element.pay": "pay",
        "notes.key": "pay",
        "notes.value": "pay",
    }
    keys = result.properties["parquet.encryption.column.keys"]
    assert "col-" in keys
    assert "ssn" not in keys
    assert ran.result(f"{mode} again").files_rewritten == 0
    assert ran.done[f"{mode} rows"].rows == ["(8, 8, 28)"]
    ran.assert_encrypted(mode)


@needs.test_all
def test_a_whole_table_with_partitions_deletion_vectors_and_change_data_is_encrypted(ran: Ran) -> None:
    assert "[PME_UNSUPPORTED]" in ran.done["whole: no columns"].message
    assert "keys protect such columns (day)" in ran.done["whole: no columns"].message
    result = ran.result("whole")
    assert (ran.done["whole rows"].rows, ran.done["whole changes"].rows, result.rows) == (["(7, 7, 24)"], ["(0,)"], 7)
    assert ran.result("whole again").files_rewritten == 0
    assert any("partition" in text for text in result.readable)
    assert ran.statistics("whole") == set()
    ran.assert_encrypted("whole")


@needs.test_all
@pytest.mark.parametrize(
    ("step", "condition", "text"),
    [
        ("prefix", "PME_BAD_OPTION", "aadPrefix"),
        ("footer", "PME_BAD_OPTION", "differ in footerKey"),
        ("no such key", "PME_KEY_NOT_FOUND", "nobody"),
        ("no such column", "PME_UNKNOWN_COLUMN", "snn"),
        ("kms", "PME_BAD_OPTION", "differ in kms"),
        ("no factory", "PME_UNSUPPORTED", "no crypto factory"),
        ("no table", "PME_BAD_OPTION", "no _delta_log"),
        ("no name", "PME_BAD_OPTION", "no such table"),
        ("no keys", "PME_BAD_OPTION", "encrypt_table"),
        ("partition", "PME_", "ssn"),
        ("cluster", "PME_UNSUPPORTED", "clustered by ssn"),
        ("generated", "PME_UNSUPPORTED", "the expression of a generated column"),
        ("default", "PME_UNSUPPORTED", "a default"),
        ("constraint", "PME_UNSUPPORTED", "a CHECK constraint"),
        ("planted", "PME_UNSUPPORTED", "pme-parquet.kms.vault.url"),
        ("keys", "PME_BAD_OPTION", "pme.delta.rotate"),
        ("order", "PME_UNSUPPORTED", "atomic type"),
    ],
)
def test_what_would_stay_readable_is_refused(ran: Ran, step: str, condition: str, text: str) -> None:
    message = ran.done[f"refused: {step}"].message
    assert f"[{condition}" in message
    assert text in message
    assert CANARY not in message


@needs.test_all
def test_a_refused_table_is_not_changed(ran: Ran) -> None:
    assert DeltaTable(str(ran.tables / "refused")).version() == 2
    assert {file[-4:] for file in ran.live("refused")} == {b"PAR1"}
    for name in ("partition", "cluster", "generated", "default", "constraint", "planted", "keys", "order"):
        assert DeltaTable(str(ran.tables / f"refused-{name}")).version() == 0


@needs.test_all
def test_a_clustered_table_is_encrypted(ran: Ran) -> None:
    assert ran.result("clustered").rows == 8
    assert ran.done["clustered rows"].rows == ["(8, 8, 28)"]
    assert ran.result("odd name").columns == {"a-b": None, "ssn": "pii"}
    ran.assert_encrypted("clustered")


@needs.test_all
def test_plaintext_that_another_session_adds_is_encrypted_or_reported(ran: Ran) -> None:
    assert ran.result("once").files_rewritten > 3
    assert ran.done["once rows"].rows == ["(9, 9, 128)"]
    assert "[PME_PLAINTEXT_FILE]" in ran.done["always"].message
    assert "another session" in ran.done["always"].message
    assert ran.result("always again").rows == 12
    assert ran.done["always rows"].rows == ["(12, 9, 428)"]
    ran.assert_encrypted("once", "always")


@needs.test_all
def test_an_encrypted_table_does_not_go_back_to_plaintext(ran: Ran) -> None:
    assert "[PME_UNSUPPORTED]" in ran.done["restored: refused"].message
    ran.assert_encrypted("restored")


@needs.test_all
def test_a_rotation_is_a_commit_and_older_versions_stay_readable(ran: Ran) -> None:
    assert "[PME_BAD_OPTION]" in ran.done["rotated: refused"].message
    assert ran.result("rotated").columns["ssn"] == "pii-2"
    assert ran.result("rotated: again").files_rewritten == 1
    assert ran.done["rotated rows"].rows == ran.done["rotated: rows before"].rows == ["(8, 8, 28)"]
    # The session has a footer key, so columns that may be readable are under it in files.
    others = ["day", "home.street", "home.zip", "id", "jobs.element.pay", "notes.key", "notes.value"]
    assert ran.done["rotated: keys"].rows == [f"('footer', 'footer', {others})", "('pii-2', 'column', ['ssn'])"]
    # The checkpoint is encrypted, so the other implementation cannot say which files are live.
    [file] = [ran.tables / "rotated" / name for name in ran.all.live["rotated"]]
    content = file.read_bytes()
    assert content[-4:] == b"PARE"
    assert CANARY.encode() not in content


@needs.test_all
@pytest.mark.parametrize("how", ["rotate", "in place"])
def test_files_of_a_delta_table_are_not_changed_without_its_log(ran: Ran, how: str) -> None:
    assert "[PME_UNSUPPORTED]" in ran.done[f"rotated: bare {how}"].message
    assert "pme.delta.rotate" in ran.done[f"rotated: bare {how}"].message


@needs.test_all
def test_other_rows_after_a_rewrite_are_reported_and_the_advice_writes_them_with_the_keys(ran: Ran) -> None:
    assert "version 4 has other rows than version 3" in ran.done["told: rows"].message
    name = f"delta.`file:{ran.tables / 'told'}`"
    assert f"INSERT OVERWRITE {name} SELECT * FROM {name} VERSION AS OF 3" in ran.done["told: rows"].message
    assert ran.done["told: advice"].rows == []
    assert ran.done["told rows"].rows == ["(8, 8, 28)"]
    # Without files there is no commit, and nothing to compare; also not another's.
    empty = ran.result("told: empty")
    assert (empty.files_rewritten, empty.rows, empty.version) == (0, None, empty.version_before)


@needs.test_all
def test_the_users_own_metadata_of_a_commit_is_redacted_before_ours(ran: Ran) -> None:
    assert ran.result("told: rotated").rows == 8
    [text, after] = ran.done["told: user metadata"].rows or []
    # The user's own text gives way to this in the log, as in every commit of a table with keys.
    assert text.startswith("redacted_by_pme_parquet() pme_")
    assert after == "ticket 7"


@needs.test_all
def test_conflicts_with_other_sessions_are_reported_as_such(ran: Ran) -> None:
    assert "nothing was rewritten" in ran.done["conflicts: rotated"].message
    assert "plaintext" not in ran.done["conflicts: rotated"].message
    assert not (ran.tables / "conflicts" / "_pme_encrypting").exists()


@needs.test_all
def test_a_file_with_another_footer_key_is_rewritten(ran: Ran) -> None:
    assert ran.result("footers: other").files_rewritten == 2
    assert ran.result("footers: again").files_rewritten == 0
    assert ran.done["footers: keys"].rows == ["footer"]
    ran.assert_encrypted("footers")


@needs.test_all
def test_columns_of_row_tracking_are_no_unknown_columns(ran: Ran) -> None:
    assert ran.result("tracked").rows == 8
    assert ran.result("tracked again").files_rewritten == 0
    ran.assert_encrypted("tracked")


@needs.test_all
@pytest.mark.parametrize("point", encrypt_killed_job.POINTS)
def test_after_a_kill_the_next_run_finishes_and_nothing_is_left(ran: Ran, point: str) -> None:
    name = f"killed {point}"
    made = point in {"committed", "compared"}
    killed = ran.all.killed[point]
    assert killed.ended, killed.errors
    assert (killed.version, killed.marks, killed.left) == (4 if made else 3, 1, [])
    result = ran.result(name)
    # The rows of a commit that nobody had compared are compared by the next run.
    assert (result.files_rewritten, result.rows) == (0 if made else 3, 8)
    assert ran.result(f"{name} again").rows is None
    assert find_canaries(ran.tables / name, [CANARY]) == []
    assert ran.done[f"{name} rows"].rows == ["(8, 8, 28)"]
    files = [file.read_bytes() for file in (ran.tables / name).rglob("*.parquet")]
    assert {file[-4:] for file in files} == {b"PARE"}


@needs.test_all
def test_a_run_continues_wherever_the_disk_stopped_the_one_before(ran: Ran) -> None:
    places = [step.split()[1] for step in ran.done if step.endswith(" first")]
    assert len(places) > 4
    assert ran.done["stopped 0 first"].rows is None
    for place in places:
        assert ran.result(f"stopped {place}").columns["ssn"] == "pii"
        assert ran.done[f"stopped {place} rows"].rows == ["(8, 8, 28)"]
        ran.assert_encrypted(f"stopped-{place}")


@needs.test_all
@pytest.mark.parametrize("step", ["named", "named schema", "named catalog"])
def test_a_table_is_found_by_its_name_in_the_catalog(ran: Ran, step: str) -> None:
    assert (ran.result(step).files_rewritten, ran.result(step).rows) == (2, 8)
    # The name and the directory are the same table.
    assert ran.result(f"{step} again").version == ran.result(step).version
    assert ran.done[f"{step} rows"].rows == ["(8, 8, 28)"]
    ran.assert_encrypted(step.replace(" ", "-"))


@needs.test_all
def test_a_name_is_looked_up_in_the_current_schema_and_must_be_of_a_delta_table(ran: Ran) -> None:
    assert ran.result("named current").path == ran.result("named schema").path
    assert ran.result("named current").files_rewritten == 0
    message = ran.done["named other"].message
    assert message.startswith("[PME_BAD_OPTION]")
    assert "other: it is no Delta table: its format is parquet" in message


@needs.test_all
def test_twenty_thousand_rows_in_nine_files_stay_the_same(ran: Ran) -> None:
    assert (ran.result("large").files_rewritten, ran.result("large").rows) == (9, 20_000)
    assert ran.done["large rows"].rows == ["(20000, 20000, 199990000)"]
    ran.assert_encrypted("large")


@needs.test_all
@pytest.mark.parametrize("mode", ["name", "id"])
def test_an_encrypted_table_with_column_mapping_is_changed_and_its_encrypted_versions_are_read(
    ran: Ran, mode: str
) -> None:
    step = f"changed {mode}"
    assert (ran.done[f"{step}: updated"].rows, ran.done[f"{step}: merged"].rows) == (["(1,)"], ["(2, 1, 0, 1)"])
    assert ran.done[f"{step}: deleted"].rows == ["(1,)"]
    rows: dict[int, tuple[str, str | None]] = {at: (f"{CANARY}-{at}", f"day-{at % 2}") for at in range(8) if at != 3}
    rows |= {1: (f"{CANARY}-1-new", "day-1"), 2: (f"{CANARY}-2", "merged"), 50: (f"{CANARY}-50", None)}
    assert ran.done[f"{step}: rows"].rows == sorted(repr((at, *row)) for at, row in rows.items())
    assert ran.done[f"{step}: then"].rows == ["(8, 8, 28)"]
    assert ran.done[f"{step}: plaintext"].condition == "PME_PLAINTEXT_FILE"
    ran.assert_encrypted(f"changed-{mode}")


@needs.test_all
@pytest.mark.parametrize("other", encrypt_others.RACES)
def test_a_run_next_to_another_session_keeps_each_row_once_and_the_next_run_finishes(ran: Ran, other: str) -> None:
    committed = ran.all.committed[other]
    assert committed
    assert other in ran.all.encrypted or ran.done[other].message.startswith("[PME_"), ran.done[other]
    assert ran.result(f"{other}: again").columns["ssn"] == "pii"
    gone = range(committed) if other == "deletes" else ()
    rows = {at: f"day-{at % 2}" for at in range(8) if at not in gone}
    rows |= {at: "other" for at in range(committed) if other == "updates"}
    rows |= {at: f"day-{at % 2}" for at in range(100, 104) if other == "streams"}
    assert ran.done[f"{other}: rows"].rows == sorted(repr((at, f"{CANARY}-{at}", day)) for at, day in rows.items())
    ran.assert_encrypted(other)


@needs.test_all
def test_columns_that_another_session_adds_are_reported_before_another_rewrite(ran: Ran) -> None:
    message = ran.done["columns"].message
    assert message.startswith("[PME_UNSUPPORTED]")
    assert "changed the table's schema or properties meanwhile. Run it again" in message
    # Each of the two runs rewrote them once at most.
    history = DeltaTable(str(ran.tables / "columns")).history()
    assert sum(one["operation"] == "OPTIMIZE" for one in history) <= 2
    assert {"added0", "added1"} <= ran.result("columns: again").columns.keys()


@needs.test_all
def test_after_a_drop_of_a_column_with_a_key_a_rotation_to_the_other_keys_makes_the_table_writable(ran: Ran) -> None:
    assert ran.done["dropped: drop"].rows == []
    # The crypto factory has a key for a column that is not in the file.
    assert ran.done["dropped: refused"].condition == "PME_UNKNOWN_COLUMN"
    assert ran.result("dropped: rotated").rows == 8
    assert ran.done["dropped: insert"].rows is not None
    assert ran.done["dropped: rows"].rows == ["(10, 10)"]
    # The checkpoint is encrypted, so the other implementation cannot say which files are live.
    files = [(ran.tables / "dropped" / name).read_bytes() for name in ran.all.live["dropped"]]
    assert [file[-4:] for file in files] == [b"PARE"] * 2
    assert not any(CANARY.encode() in file for file in files)
    assert high(ran.checks["check dropped"], "live") == []


@needs.test_all
def test_the_names_of_deltas_draft_encrypt_a_table_and_a_rotation_keeps_them(ran: Ran) -> None:
    for name in ("kms_id", "plaintext_footer", "drop"):
        assert ran.done[f"draft: {name}"].condition == "PME_UNSUPPORTED", name
    assert "delta.encryption.kms_id" in ran.done["draft: kms_id"].message
    assert ran.done["draft: delete"].rows == ["(1,)"]
    assert ran.done["draft rows"].rows == ran.done["draft rows rotated"].rows == ["(7, 7, 27)"]
    assert find_canaries(ran.tables / "draft", [CANARY]) == []
    assert "ssn" in ran.checks["check draft"].columns
    assert ran.done["draft: options"].condition == "PME_UNSUPPORTED"
    properties = ran.result("draft").properties
    assert properties["delta.encryption.column_keys"] == "pii-2: ssn"
    assert "parquet.encryption.column.keys" not in properties
