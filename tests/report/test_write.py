"""Where a report is written: whole or not at all, and never into the table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

import pme_parquet as pme
from tests.support.expect import refused
from tests.support.files.handmade import encrypted


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table" / "day=1" / "a"
    path.parent.mkdir(parents=True)
    path.write_bytes(encrypted(b"footer"))
    return tmp_path / "table"


@pytest.mark.parametrize("kind", [str, Path])
def test_the_path_is_returned_and_the_file_exists(table: Path, tmp_path: Path, kind: type) -> None:
    out = pme.report(table, kind(tmp_path / "report.html"))
    assert out == tmp_path / "report.html"
    assert out.read_text().startswith("<!DOCTYPE html>")
    assert out.stat().st_mode & 0o777 == 0o666 & ~umask()


def umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def test_it_goes_into_the_working_directory_by_default(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert pme.report(table) == Path("report.html")
    assert (tmp_path / "report.html").is_file()


def test_an_existing_report_is_replaced(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    out.write_text("old")
    pme.report(table, out)
    assert "old" not in out.read_text()[:20]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "table"]


def test_a_link_stays_and_its_target_is_replaced(table: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    page = tmp_path / "elsewhere" / "page.html"
    page.write_text("old")
    page.chmod(0o600)
    out = tmp_path / "report.html"
    out.symlink_to(page)
    pme.report(table, out)
    assert out.is_symlink()
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert page.stat().st_mode & 0o777 == 0o600
    page.unlink()
    with refused("PME_BAD_OPTION", "No such file"):
        pme.report(table, out)


def test_a_replaced_report_keeps_its_mode_whatever_the_umask(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    out.write_text("old")
    out.chmod(0o664)
    before = os.umask(0o077)
    try:
        pme.report(table, out)
    finally:
        os.umask(before)
    assert out.stat().st_mode & 0o777 == 0o664


def test_a_report_that_cannot_be_finished_leaves_the_old_one(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report.html"
    out.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with refused("PME_BAD_OPTION", "No space left on device"):
        pme.report(table, out)
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "table"]


@pytest.mark.parametrize(
    ("out", "why"),
    [
        ("table", "it is a directory"),
        (".", "it is a directory"),
        ("none/report.html", "there is no directory"),
        ("s3://bucket/report.html", "it is a URL"),
        ("table/report.html", "it is inside the table"),
        ("table/day=1/report.html", "it is inside the table"),
        ("link/report.html", "it is inside the table"),
    ],
)
def test_invalid_targets_are_refused(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, why: str
) -> None:
    (tmp_path / "link").symlink_to(table)
    monkeypatch.chdir(tmp_path)
    with refused("PME_BAD_OPTION", why):
        pme.report(table, out)
    assert [path.name for path in table.rglob("*") if path.is_file()] == ["a"]


def test_a_path_next_to_a_partition_counts_as_in_the_table(table: Path) -> None:
    with refused("PME_BAD_OPTION", "it is inside the table"):
        pme.report(table / "day=1", table / "report.html")
    with refused("PME_BAD_OPTION", "it is inside the table"):
        pme.report(table.as_uri(), table / "report.html")


def test_a_path_next_to_a_single_file_counts_as_in_its_table(table: Path, tmp_path: Path) -> None:
    file = table / "day=1" / "a"
    for place in (file.parent, table):
        with refused("PME_BAD_OPTION", "it is inside the table"):
            pme.report(file, place / "report.html")
    assert pme.report(file, file.parent / "_report.html").is_file()
    assert pme.report(file, tmp_path / "report.html").is_file()


def test_ctrl_c_says_that_no_report_was_written(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("pme_parquet._report.make.gather", interrupt)
    with pytest.raises(KeyboardInterrupt, match=r"^pme\.report was interrupted: no page was written"):
        pme.report(table, tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_it_does_not_replace_the_reported_file(table: Path) -> None:
    file = table / "day=1" / "a"
    before = file.read_bytes()
    with refused("PME_BAD_OPTION", "the file that the report is about"):
        pme.report(file, file)
    assert file.read_bytes() == before


def test_names_that_readers_ignore_may_be_in_the_table(table: Path) -> None:
    for name in ("_report.html", ".report.html"):
        assert pme.report(table, table / name).is_file()
    assert len(pme.inspect(table).files) == 1


def test_something_that_is_not_a_file_is_left_alone(table: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with refused("PME_BAD_OPTION", "it is not a regular file"):
        pme.report(table, tmp_path / "pipe")
