"""What a check makes of footers that a session opens, and of what the session's Delta says. No session is started."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from pme_parquet._checks.delta import opened
from pme_parquet._delta_log import live
from pme_parquet._delta_log.live import Live
from tests.delta import written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pme_parquet._checks.delta.data import DataFile
    from pme_parquet._checks.results import DeltaCheck

SPARK: Any = object()
HIDDEN, SHOWN = ["ssn"], ["id", "note"]


class Session:
    """Stands for a session: what it opens, and what its Delta says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.plaintext = SHOWN
        self.asked: list[str] = []
        self.says = Live(problem="nobody asked")
        self.failure: Exception | None = None
        # A bound method would not get the opener.
        monkeypatch.setattr(opened.Opener, "_rows", lambda opener, files: self.rows(opener, files))  # noqa: PLW0108
        monkeypatch.setattr(opened.Opener, "live", lambda *_: self.says)
        monkeypatch.setattr("pme_parquet._access.session.of_session", lambda *_: (None, ""))

    def rows(self, opener: Any, files: Sequence[DataFile]) -> Iterator[tuple[str, Any]]:
        if self.failure is not None:
            raise self.failure
        for file in files:
            at = opener._at(file)
            self.asked.append(at)
            yield at, {"problem": "", "encrypted": HIDDEN, "plaintext": self.plaintext}


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    return Session(monkeypatch)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a table with a live file whose footer hides that only ``ssn`` is encrypted."""
    written.commit(tmp_path, 0, written.metadata(), written.add("a.parquet"))
    written.encrypted(tmp_path, "a.parquet", "x")
    return tmp_path


def check(table: Path, **more: Any) -> DeltaCheck:
    return pme.delta.check(table, columns=["ssn"], spark=SPARK, **more)


def kinds(found: DeltaCheck) -> list[tuple[str, str, str]]:
    return [(one.severity, one.kind, one.file) for one in found.findings]


def test_a_footer_that_opens_and_hides_no_protected_column_is_ok(session: Session, table: Path) -> None:
    found = check(table)
    assert (found.ok, kinds(found), found.looked_at["footers opened"]) == (True, [], 1)
    assert session.asked == [f"file:{table}/a.parquet"]


def test_a_protected_column_in_plaintext_is_found(session: Session, table: Path) -> None:
    session.plaintext = ["id", "ssn"]
    assert kinds(check(table)) == [("high", "plaintext column", "a.parquet")]


@pytest.mark.parametrize("name", ["number", "people.list.element.ssn", "col-1"])
def test_a_plaintext_column_that_the_table_does_not_have_is_not_taken_for_known(
    session: Session, table: Path, name: str
) -> None:
    session.plaintext = ["id", name]
    assert kinds(check(table)) == [("unread", "hidden columns", "a.parquet")]


def test_columns_that_delta_adds_are_known(session: Session, tmp_path: Path) -> None:
    tracking = {"delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1"}
    written.commit(tmp_path, 0, written.metadata(**tracking), written.add("a.parquet"))
    written.encrypted(tmp_path, "a.parquet", "x")
    session.plaintext = ["id", "_change_type", "_row-id-col-1"]
    assert check(tmp_path).ok


def test_a_file_that_is_shown_like_another_stays_a_finding_of_its_own(session: Session, table: Path) -> None:
    (table / "b").mkdir()
    written.encrypted(table / "b", "c.parquet", "x")
    written.plaintext(table, "b\\c.parquet", "x")
    assert ("high", "plaintext file", "b/c.parquet") in kinds(check(table))
    written.encrypted(table, "d\\e.parquet", "x")
    session.asked.clear()
    check(table)
    assert {one.removeprefix(f"file:{table}/") for one in session.asked} == {
        "a.parquet",
        "b/c.parquet",
        "d\\e.parquet",
    }


def test_what_does_not_open_is_a_finding_with_the_reason(session: Session, table: Path) -> None:
    session.failure = RuntimeError("an executor was lost")
    found = check(table)
    assert kinds(found) == [("unread", "hidden columns", "a.parquet")]
    assert "its footer did not open: RuntimeError" in found.findings[0].what
    session.failure = pme.KeyNotFoundError("gone")
    assert kinds(check(table)) == [("unread", "hidden columns", "a.parquet")]
    # Of a KMS that the caller names, it is an error.
    with pytest.raises(pme.KeyNotFoundError):
        check(table, kms="vault")


@pytest.mark.parametrize(("version", "found"), [(0, []), (1, [("unread", "other version", "")])])
def test_live_files_of_another_version_than_the_log_that_was_searched_are_not_ok(
    session: Session, table: Path, monkeypatch: pytest.MonkeyPatch, version: int, found: list[tuple[str, str, str]]
) -> None:
    monkeypatch.setattr(live, "is_installed", lambda: False)
    metadata = json.loads(json.dumps(written.metadata()))
    session.says = Live(version, frozenset({"a.parquet"}), by="the session's Delta", metadata=metadata)
    done = check(table)
    assert (kinds(done), done.version, done.live_by) == (found, version, "the session's Delta")


def test_storage_options_are_for_a_check_without_the_session(session: Session, table: Path) -> None:
    assert kinds(check(table, storage_options={})) == [("unread", "hidden columns", "a.parquet")]
    assert session.asked == []
    with pytest.raises(pme.BadOptionError, match="storage_options reach the storage without it"):
        check(table, storage_options={}, kms="vault")


@pytest.mark.parametrize(("options", "times"), [(None, 1), ({}, 0)])
def test_inspect_asks_the_session_only_for_what_it_reaches_itself(
    table: Path, monkeypatch: pytest.MonkeyPatch, session: Session, options: dict[str, str] | None, times: int
) -> None:
    asked: list[str] = []

    def by_session(place: str, *_: Any) -> Live:
        asked.append(place)
        return Live(problem="it cannot tell")

    monkeypatch.setattr("pme_parquet._delta_log.live.from_session", by_session)
    monkeypatch.setattr("pme_parquet._delta_log.live.is_installed", lambda: False)
    pme.inspect(table, storage_options=options, spark=SPARK)
    assert len(asked) == times


def test_the_place_for_the_session_is_whole(session: Session, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(table.parent))
    for name in (f"~/{table.name}", f"file://{table}", f"{table}/", f"{table.parent}/./{table.name}"):
        session.asked.clear()
        pme.delta.check(name, columns=["ssn"], spark=SPARK)
        assert session.asked == [f"file:{table}/a.parquet"], name


def test_two_spellings_of_the_property_protect_the_columns_of_both(tmp_path: Path) -> None:
    keys = {"parquet.encryption.column.keys": "pii: ssn", "PARQUET.encryption.column.keys": "pii: note"}
    written.commit(tmp_path, 0, written.metadata(**keys))
    assert pme.delta.check(tmp_path).columns == ("note", "ssn")
