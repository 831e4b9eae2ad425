"""`pme-parquet plan`, `report` and `doctor`: what they print, and how they exit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.commands import keystore, run
from tests.support.session import PASSWORD_VARIABLE

if TYPE_CHECKING:
    from pathlib import Path


def test_plan_shows_which_column_gets_which_key_and_writes_nothing(people: Path, given: list[str]) -> None:
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


def test_plan_exits_with_1_if_a_pattern_matches_nothing(people: Path, given: list[str]) -> None:
    done = run("plan", people, "--footer-key", "footer", "--column-key", "pii=nmae", *given, "--json")
    assert done.code == 1
    assert [pattern["pattern"] for pattern in done.document["unmatched"]] == ["nmae"]


def test_plan_of_a_missing_path_exits_with_2(tmp_path: Path, given: list[str]) -> None:
    done = run("plan", tmp_path / "nowhere", "--footer-key", "footer", *given)
    assert (done.code, done.out) == (2, "")


def test_plan_of_an_encrypted_table_says_so(encrypted: Path, given: list[str]) -> None:
    done = run("plan", encrypted, "--footer-key", "footer", *given)
    assert done.code == 2
    assert "it is already encrypted" in done.err
    assert "pme-parquet inspect" in done.err
    assert "pme-parquet plan(" not in done.err
    assert "pme." not in done.err


def test_report_writes_a_page_with_keys_or_without(encrypted: Path, given: list[str], tmp_path: Path) -> None:
    page = tmp_path / "with.html"
    done = run("report", encrypted, "--out", page, *given, "--json")
    assert (done.code, done.document) == (0, {"page": str(page), "findings": 0})
    assert "verifying: 3 of 3 files" in done.err
    assert "looking into footers: 3 of 3 files" in done.err
    assert page.read_text().startswith("<!")
    without = tmp_path / "without.html"
    done = run("report", encrypted, "--out", without, "--no-verify")
    assert (done.code, done.out, done.err) == (0, f"{without}: 0 findings\n", "")
    assert without.is_file()


def test_report_exits_with_1_if_verification_finds_a_problem(encrypted: Path, given: list[str], tmp_path: Path) -> None:
    content = bytearray(data_files(encrypted)[0].read_bytes())
    content[100] ^= 1
    (tmp_path / "part").write_bytes(content)
    page = tmp_path / "_report.html"
    done = run("report", tmp_path, "--out", page, *given, "--json", "--quiet")
    assert (done.code, done.document, done.err) == (1, {"page": str(page), "findings": 1}, "")
    assert "1 finding" in page.read_text()
    assert run("report", tmp_path, "--out", page, "--no-verify").code == 0


def test_report_exits_with_3_if_missing_keys_are_the_only_problem(encrypted: Path, tmp_path: Path) -> None:
    other = pme.Keystore(tmp_path / "other.p12", pme.env(PASSWORD_VARIABLE)).create(["other"])
    page = tmp_path / "_keys.html"
    assert run("report", encrypted, "--out", page, *keystore(other), "--quiet").code == 3
    assert "PME_KEY_NOT_FOUND" in page.read_text()
    (tmp_path / "damaged").mkdir()
    for file in data_files(encrypted):
        (tmp_path / "damaged" / file.name).write_bytes(file.read_bytes())
    (tmp_path / "damaged" / "part-9.parquet").write_bytes(b"PAR1 and no more PARE")
    assert run("report", tmp_path / "damaged", "--out", page, *keystore(other), "--quiet").code == 1


def test_report_exits_with_1_if_inspection_finds_a_problem(tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(b"PAR1")
    page = tmp_path / "_report.html"
    done = run("report", tmp_path, "--out", page, "--no-verify")
    assert (done.code, done.out) == (1, f"{page}: 1 finding\n")
    assert page.is_file()


def test_doctor_prints_each_check(given: list[str]) -> None:
    done = run("doctor", "--footer-key", "footer", *given, "--json")
    assert done.code == 0, done.err
    statuses = {check["name"]: check["status"] for check in done.document["checks"]}
    assert {"Spark", "Java", "connector", "key 'footer' from driver", "key 'footer' from executor"} <= set(statuses)
    assert statuses["key 'footer' from driver"] == statuses["connector"] == "ok"
    assert "problem" not in statuses.values()


def test_doctor_tries_the_key_and_exits_with_3_if_it_is_missing(given: list[str]) -> None:
    done = run("doctor", "--footer-key", "nobody", *given, "--json")
    assert done.code == 3
    problems = [check["name"] for check in done.document["checks"] if check["status"] == "problem"]
    assert "key 'nobody' from driver" in problems
