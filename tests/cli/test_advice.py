"""`pme-parquet plan`, `report` and `doctor`: what they print, and how they exit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.commands import run

if TYPE_CHECKING:
    from pathlib import Path


def test_plan_tells_which_column_gets_which_key_and_writes_nothing(people: Path, given: list[str]) -> None:
    before = sorted(people.parent.iterdir())
    arguments: list[str | Path] = ["plan", people, "--footer-key", "footer", "--column-key", "pii=name", *given]
    done = run(*arguments, "--json")
    assert done.code == 0, done.err
    assert {column["name"]: column["key"] for column in done.document["columns"]} == {
        "id": "footer",
        "name": "pii",
        "pay": "footer",
    }
    assert "pii" in run(*arguments).out
    assert sorted(people.parent.iterdir()) == before


def test_plan_exits_with_1_where_a_pattern_matches_nothing(people: Path, given: list[str]) -> None:
    done = run("plan", people, "--footer-key", "footer", "--column-key", "pii=nmae", *given, "--json")
    assert done.code == 1
    assert [pattern["pattern"] for pattern in done.document["unmatched"]] == ["nmae"]


def test_plan_of_nothing_exits_with_2(tmp_path: Path, given: list[str]) -> None:
    done = run("plan", tmp_path / "nowhere", "--footer-key", "footer", *given)
    assert (done.code, done.out) == (2, "")


def test_report_writes_a_page_with_keys_or_without(encrypted: Path, given: list[str], tmp_path: Path) -> None:
    page = tmp_path / "with.html"
    done = run("report", encrypted, "--out", page, *given, "--json")
    assert (done.code, done.document) == (0, {"page": str(page)})
    assert page.read_text().startswith("<!")
    without = tmp_path / "without.html"
    assert run("report", encrypted, "--out", without, "--no-verify").out == f"{without}\n"
    assert without.is_file()


def test_doctor_tells_of_each_check(given: list[str]) -> None:
    done = run("doctor", "--footer-key", "footer", *given, "--json")
    statuses = {check["status"] for check in done.document["checks"]}
    assert statuses <= {"ok", "warning", "problem"}
    assert done.code == int("problem" in statuses)


def test_doctor_tries_the_key_and_exits_with_1_where_it_is_not_there(given: list[str]) -> None:
    assert run("doctor", "--footer-key", "nobody", *given).code == 1
