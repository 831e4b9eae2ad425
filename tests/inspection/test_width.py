"""Inspections fit into a terminal: nothing is wider, and `to_dict` has what a table had to leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from pme_parquet._display.content import Table, elided, fit
from pme_parquet._display.words import Grouped, by_cause
from tests.support.files.handmade import column, encrypted, material, readable
from tests.support.shown import on_screen

if TYPE_CHECKING:
    from pathlib import Path

NAME = "part-00000-a4830815-26af-40c0-a310-c86df80c9881-c000.snappy.parquet"
ARN = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / NAME).write_bytes(encrypted(material("footer")))
    (tmp_path / f"{NAME}-2").write_bytes(encrypted(material("footer")))
    return tmp_path


def test_a_table_fits_into_80_columns_and_says_as_much_as_it_can(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    report = pme.inspect(table)
    _, *lines = str(report).splitlines()
    assert [line.strip() for line in lines] == [
        "",
        "files  size   footer     algorithm   keys, first file",
        "2      960 B  encrypted  AES_GCM_V1  footer: key 'footer';",
        "columns: not visible",
        elided(NAME, 80 - lines[4].index("part")),
    ]
    assert max(map(len, lines)) <= 80
    assert report.to_dict()["files"][0]["file"] == NAME


def test_without_a_terminal_a_table_is_80_columns_wide(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = str(pme.inspect(table))
    monkeypatch.setenv("COLUMNS", "80")
    assert str(pme.inspect(table)) == wide
    monkeypatch.setenv("COLUMNS", "200")
    assert NAME in str(pme.inspect(table))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_nothing_is_wider_than_the_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    columns = [column(b"a", b"long", b"path" * 10, b"list", b"element", key=material(ARN)), column(b"id")]
    (tmp_path / NAME).write_bytes(readable(columns, signed=True))
    (tmp_path / "other").write_bytes(encrypted(material(ARN)))
    for path in (tmp_path, tmp_path / NAME):
        report = pme.inspect(path)
        _, *lines = str(report).splitlines()
        assert max(len(line) for line in lines if line.startswith("  ")) <= width
        assert max(map(len, on_screen(report, width).splitlines())) <= width
        assert ARN in str(report).replace("\n", "").replace(" ", "")


def test_a_table_that_fits_is_left_alone() -> None:
    table = Table(("a", "b"), (("1", "x y"),), paths=True)
    assert fit(table, 80) is table
    assert fit(Table((), ()), 80) == Table((), ())


def test_a_path_loses_its_middle() -> None:
    assert elided("short", 5) == "short"
    assert elided("a/long/path/part-1.parquet", 15) == "a/lo…-1.parquet"


def findings(files: int, *columns: str) -> list[Grouped]:
    return [
        Grouped(
            "PME_KEY_NOT_FOUND",
            f"file:/t/part-{file}.parquet",
            f"file:/t/part-{file}.parquet, column '{name}': master key 'k{2 + len(key)}' cannot be used, page {file}.",
            name,
        )
        for file in range(files)
        for name, _, key in (column.partition(" ") for column in columns)
    ]


def test_findings_of_one_cause_are_one_line() -> None:
    [line] = by_cause(findings(24, "a", "b", "c"))
    assert line == (
        "[PME_KEY_NOT_FOUND] 72 times in 24 files, columns a, b, c, as in file:/t/part-0.parquet, column 'a': "
        "master key 'k2' cannot be used, page 0."
    )
    assert [line.count("24 files") for line in by_cause(findings(24, "a", "b x"))] == [1, 1]


def test_a_single_finding_is_shown_unchanged() -> None:
    [line] = by_cause(findings(1, "a"))
    assert line.startswith("[PME_KEY_NOT_FOUND] file:/t/part-0.parquet, column 'a': master key")
    assert list(by_cause([Grouped("java.io.IOException", "file:/t/a", "no\x1b")])) == [
        r"[java.io.IOException] file:/t/a: no\x1b"
    ]


def test_many_causes_are_cut_and_counted() -> None:
    told = [Grouped("X", "f", f"cause '{number}'") for number in range(25)]
    *lines, last = by_cause([*told, *told])
    assert len(lines) == 20
    assert last == "and 10 findings more of 5 other causes; --json and to_dict() list all"
