"""`pme-parquet delta-check`: what it prints, and how it exits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.delta import written
from tests.support.commands import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    written.encrypted(tmp_path, "a.parquet", "x", plaintext_footer=True)
    written.commit(tmp_path, 0, written.metadata(), written.add("a.parquet"))
    return tmp_path


def test_no_finding_exits_with_0(table: Path) -> None:
    done = run("delta-check", table)
    assert (done.code, done.out, done.err) == (0, f"{pme.delta.check(table)}\n", "")
    assert done.out.splitlines()[0].endswith("Delta table, version 0: no findings")


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_a_finding_exits_with_1(table: Path, arguments: list[str]) -> None:
    written.plaintext(table, "b.parquet", "CANARY-4711")
    done = run("delta-check", table, *arguments)
    assert (done.code, done.err) == (1, "")
    assert "plaintext file" in done.out
    assert "CANARY" not in done.out


def test_columns_and_json(table: Path) -> None:
    done = run("delta-check", table, "--column", "ssn", "--column", "note", "--json")
    expected = pme.delta.check(table, columns=["ssn", "note"]).to_dict()
    assert (done.code, done.document) == (1, json.loads(json.dumps(expected)))
    assert [(one["kind"], one["column"]) for one in expected["findings"]] == [("plaintext column", "note")]


def test_the_command_names_its_own_options_for_a_table_that_protects_nothing(tmp_path: Path) -> None:
    written.commit(tmp_path, 0, written.metadata())
    done = run("delta-check", tmp_path)
    assert done.code == 1
    assert "Name them with --column" in " ".join(done.out.split())


@pytest.mark.parametrize("arguments", [["--column", "snn"], []])
def test_wrong_use_exits_with_2(table: Path, arguments: list[str]) -> None:
    where = table if arguments else table / "gone"
    done = run("delta-check", where, *arguments)
    assert (done.code, done.out) == (2, "")
    assert "PME_" in done.err
