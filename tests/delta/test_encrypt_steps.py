"""Steps of `pme.delta.encrypt_table` and `rotate` that need no Spark: what is compared, and what is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pme_parquet._delta_tables.advice import statements
from pme_parquet._delta_tables.encrypting import unfinished
from pme_parquet._delta_tables.keyed import COLUMNS, COMPLETE, FOOTER, Keyed
from pme_parquet._delta_tables.live import Look, compared, expected
from pme_parquet._delta_tables.logged import Version
from pme_parquet._delta_tables.rewriting import Rewriting, Rewritten
from pme_parquet.errors import PlaintextFileError, PmeError

if TYPE_CHECKING:
    from collections.abc import Callable

WHERE = "pme.delta.encrypt_table"
NAME = "delta.`/people`"
KEYS = {"id": None, "ssn": "pii"}
ROWS = (8, "-4711")


def row(column: str | None, kind: str, key: str | None, state: str = "encrypted") -> dict[str, Any]:
    return {"group": 0, "files": 3, "state": state, "column": column, "kind": kind, "master_key": key}


FOOTERS = row(None, "footer", "footer")
ID = row("id", "plaintext", None)
SSN = row("ssn", "column key", "pii")


def other(*rows: dict[str, Any]) -> int:
    return compared(rows, KEYS, "footer", shown=0).other


@pytest.mark.parametrize(
    "changed", [{}, SSN | {"column": "SSN"}, ID | {"kind": "footer key", "master_key": "footer"}], ids=str
)
def test_files_with_the_right_keys_are_not_rewritten(changed: dict[str, Any]) -> None:
    rows = {one["column"]: one for one in (FOOTERS, ID, SSN)}
    if changed:
        rows[changed["column"].lower()] = changed
    assert compared(rows.values(), KEYS, "footer", shown=0) == Look(files=3, other=0, shown=0, unknown=0)


@pytest.mark.parametrize(
    "wrong",
    [
        FOOTERS | {"master_key": "old"},
        FOOTERS | {"master_key": None},
        row(None, "", None),
        SSN | {"master_key": "old"},
        SSN | {"master_key": None},
        SSN | {"kind": "plaintext", "master_key": None},
        SSN | {"kind": "footer key", "master_key": "footer"},
        ID | {"kind": "column key", "master_key": "pii"},
        ID | {"kind": "footer key", "master_key": None},
        row("dropped", "column key", "pii"),
        row("dropped", "plaintext", None),
        row(None, "", None, "plaintext"),
    ],
    ids=str,
)
def test_a_file_with_another_key_of_its_footer_or_of_any_column_is_rewritten(wrong: dict[str, Any]) -> None:
    assert other(FOOTERS, ID, SSN, wrong) == 3


def version(**properties: str) -> Version:
    return Version(1, {name.replace("_", "."): value for name, value in properties.items()}, "", (), None, 0)


@pytest.mark.parametrize(
    ("more", "key"),
    [({COLUMNS: "pii: ssn"}, None), ({COLUMNS: "pii: ssn", COMPLETE: "true"}, "footer"), ({}, "footer")],
)
def test_columns_that_delta_adds_to_files_have_the_key_of_unlisted_ones(more: dict[str, str], key: str | None) -> None:
    keyed = Keyed({}, {"SSN": "pii"}, {FOOTER: "footer"} | more, (), (), ("Day",))
    of = version(delta_rowTracking_materializedRowIdColumnName="_row-id-col-1")
    assert expected(keyed, of) == {"ssn": "pii", "day": key, "_row-id-col-1": key}


def test_a_file_that_does_not_open_is_unknown_and_not_rewritten_for_nothing() -> None:
    found = compared((row(None, "", None, "unknown"),), KEYS, "footer", shown=0)
    assert (found.other, found.unknown, found.clean) == (0, 3, False)


class Table:
    """A table whose rewrites make commits, among those of others."""

    name, path = NAME, "/people"

    def __init__(self, *others_after: str) -> None:
        self.texts = ["", ""]
        self.rows: dict[int, tuple[int, str]] = {}
        self.seen: set[str] = set()
        self.compared: list[int] = []
        self.result = (3, 1)
        self.others_after = others_after
        self.failing: Callable[[], None] = lambda: None

    def version(self) -> Version:
        return Version(len(self.texts) - 1, {}, "", (), None, 0)

    def rewrite(self, order: str | None, text: str) -> tuple[int, int]:
        assert order == "id"
        assert [text in mark for mark in self.seen] == [True]
        self.failing()
        if any(self.result):
            self.texts.append(text)
        self.texts.extend(self.others_after)
        return self.result

    def commits(self, text: str, after: int) -> list[int]:
        return [at for at, one in enumerate(self.texts) if at > after and one.endswith(text)]

    def content(self, at: int) -> tuple[int, str]:
        self.compared.append(at)
        return self.rows.get(at, ROWS)

    def marks(self) -> list[str]:
        return list(self.seen)

    def mark(self, name: str) -> None:
        self.seen.add(name)

    def unmark(self, name: str) -> None:
        self.seen.discard(name)

    def place_of(self, mark: str) -> str:
        return f"/people/{mark}"


def rewriting(table: Table) -> Rewriting:
    return Rewriting(table, WHERE)  # type: ignore[arg-type]


def test_the_rows_of_the_own_commit_are_compared_and_not_those_of_another_session() -> None:
    table = Table("another OPTIMIZE", "another")
    assert rewriting(table).rewrite("id") == Rewritten(removed=3, added=1, rows=8)
    assert table.compared == [1, 2]
    assert table.seen == set()


def test_an_empty_table_has_nothing_to_compare() -> None:
    table = Table("another OPTIMIZE")
    table.result = (0, 0)
    assert rewriting(table).rewrite("id") == Rewritten(removed=0, added=0, rows=None)
    assert (table.compared, table.seen) == ([], set())


def test_a_commit_that_is_not_in_the_history_is_an_error() -> None:
    table = Table()
    table.commits = lambda text, after: []  # type: ignore[method-assign] # noqa: ARG005
    with pytest.raises(PmeError, match="rows were not compared"):
        rewriting(table).rewrite("id")


def test_other_rows_are_an_error_whose_advice_brings_no_plaintext_back() -> None:
    table = Table()
    table.rows[2] = (7, "-4711")
    with pytest.raises(PmeError) as failed:
        rewriting(table).rewrite("id")
    text = str(failed.value)
    assert "version 2 has other rows than version 1" in text
    assert f"INSERT OVERWRITE {NAME} SELECT * FROM {NAME} VERSION AS OF 1" in text
    assert "RESTORE TABLE" not in text
    assert "4711" not in text
    # It was told, so the next run does not tell it again.
    assert table.seen == set()


def test_a_conflict_is_none_and_leaves_no_mark() -> None:
    class ConcurrentAppendError(Exception):
        pass

    def conflict() -> None:
        raise ConcurrentAppendError

    table = Table()
    table.failing = conflict
    assert rewriting(table).rewrite("id") is None
    assert table.seen == set()


def interrupted(*_: object) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("at", ["content", "unmark"])
def test_the_next_run_compares_what_an_interrupted_one_did_not(at: str) -> None:
    table = Table()
    setattr(table, at, interrupted)
    with pytest.raises(KeyboardInterrupt):
        rewriting(table).rewrite("id")
    delattr(table, at)
    table.compared.clear()
    table.texts.append("another")
    assert rewriting(table).finish() == 8
    assert (table.compared, table.seen) == ([1, 2], set())
    assert rewriting(table).finish() is None


def test_a_run_that_was_interrupted_before_its_commit_leaves_nothing_to_compare() -> None:
    table = Table()
    table.failing = interrupted
    with pytest.raises(KeyboardInterrupt):
        rewriting(table).rewrite("id")
    assert len(table.seen) == 1
    assert rewriting(table).finish() is None
    assert (table.compared, table.seen) == ([], set())


def test_rows_of_an_interrupted_run_that_cannot_be_compared_anymore_are_an_error() -> None:
    def gone(at: int) -> Any:
        raise FileNotFoundError(at)

    table = Table()
    table.seen = {f"0-pme_{'a' * 32}", "of somebody else"}
    table.texts[1] = f"mine pme_{'a' * 32}"
    table.content = gone  # type: ignore[method-assign]
    with pytest.raises(PmeError, match=f"delete /people/0-pme_{'a' * 32}"):
        rewriting(table).finish()
    assert len(table.seen) == 2


OLD = {"delta.LogRetentionDuration": r"interval '7' \ days", "delta.checkpointInterval": "20"}
COMPATIBLE = "spark.databricks.delta.vacuum.enforceDeletedFileAndLogRetentionDurationCompatibility"


@pytest.mark.parametrize(
    ("properties", "last"),
    [
        ({"x": "y"}, ["UNSET TBLPROPERTIES ('delta.logRetentionDuration', 'delta.checkpointInterval')"]),
        (
            OLD,
            [
                (
                    r"SET TBLPROPERTIES ('delta.logRetentionDuration' = 'interval \'7\' \\ days', "
                    "'delta.checkpointInterval' = '20')"
                )
            ],
        ),
        (
            {"delta.checkpointInterval": "20"},
            [
                "SET TBLPROPERTIES ('delta.checkpointInterval' = '20')",
                "UNSET TBLPROPERTIES ('delta.logRetentionDuration')",
            ],
        ),
    ],
    ids=["none", "both", "one"],
)
def test_the_advice_puts_the_owners_properties_back(properties: dict[str, str], last: list[str]) -> None:
    *found, reset = statements(NAME, properties)
    assert found[-len(last) :] == [f"ALTER TABLE {NAME} {text}" for text in last]
    assert sum("ALTER" in one for one in found) == 1 + len(last)
    # Delta 4 otherwise refuses what Delta 3 has allowed.
    assert found[-len(last) - 2] == f"SET {COMPATIBLE}=false"
    assert reset == f"RESET {COMPATIBLE}"


def test_the_advice_warns_before_vacuum_and_sets_the_session_back() -> None:
    found = statements(NAME, {})
    at = found.index(f"VACUUM {NAME} RETAIN 0 HOURS")
    assert found[at - 1].startswith("-- stop all queries and writes")
    assert "time travel" in found[at - 1]
    assert (found[0], found[at + 1]) == tuple(
        f"{verb} spark.databricks.delta.retentionDurationCheck.enabled{value}"
        for verb, value in (("SET", "=false"), ("RESET", ""))
    )


def test_four_conflicts_are_told_as_such() -> None:
    failed = unfinished(Look(files=3, other=0, shown=0, unknown=0), 0, "pme.delta.rotate")
    assert not isinstance(failed, PlaintextFileError)
    assert "nothing was rewritten" in str(failed)
    assert "another session came first in each of 4 attempts" in str(failed)
    assert "0 of 3 live files do not have these keys" in str(failed)
    assert "plaintext" not in str(failed)


def test_files_that_are_not_rotated_are_told_as_such() -> None:
    failed = unfinished(Look(files=3, other=0, shown=0, unknown=0), 4, "pme.delta.rotate")
    assert not isinstance(failed, PlaintextFileError)
    assert "files from before are still live" in str(failed)


def test_files_that_stay_plaintext_are_told_as_such() -> None:
    failed = unfinished(Look(files=3, other=2, shown=1, unknown=0), 4, WHERE)
    assert isinstance(failed, PlaintextFileError)
    assert "after 4 rewrites, 2 live files are plaintext" in str(failed)
