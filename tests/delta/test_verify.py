"""Verification and key usage of Delta tables in a session without Delta: `deltalake` says which files are live."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from pme_parquet._delta_log import live
from tests.delta import written
from tests.support.commands import run
from tests.support.expect import condition
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.all_rows

OPTIONS = {"kms": TEST_KMS}
FILES = {"live": 1, "not live": 2}


def add(table: Path, name: str) -> dict[str, Any]:
    return written.add(name, size=(table / name).stat().st_size)


def make(table: Path, *, live: tuple[str, ...] = ("b.parquet",)) -> Path:
    """Write a table with a file that is live, one that is not, and one that the log does not name."""
    for name in ("a.parquet", "c.parquet", *live):
        written.encrypted(table, name, "x", "y")
    written.commit(table, 0, written.metadata(), add(table, "a.parquet"))
    written.commit(table, 1, written.remove("a.parquet"), *(add(table, name) for name in live))
    return table


def verified(spark: SparkSession, path: Path, **more: Any) -> tuple[list[tuple[str, str]], pme.Opened]:
    found = pme.verify(spark, path, options=OPTIONS | more.pop("options", {}), **more)
    return [(row.file.rsplit("/", 1)[-1], row.condition) for row in found.collect()], found.opened


def parts(spark: SparkSession, path: Path) -> dict[str, set[tuple[str | None, int]]]:
    found: dict[str, set[tuple[str | None, int]]] = {}
    for row in pme.key_usage(spark, path, options=OPTIONS).collect():
        found.setdefault(row.part, set()).add((row.master_key, row.files))
    return found


def test_live_files_are_verified_and_the_others_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    (make(tmp_path / "t") / "a.parquet").write_bytes(b"damaged")
    findings, opened = verified(spark, tmp_path / "t")
    assert (findings, opened.files) == ([], 1)
    [table] = opened.tables
    assert (table.version, table.live_by, table.live, table.not_live) == (1, "deltalake", 1, 2)
    assert "Delta table, version 1 (by deltalake): 1 live file, 2 files not live" in str(opened)
    findings, opened = verified(spark, tmp_path / "t", all_files=True)
    assert (findings, opened.files) == ([("a.parquet", "PME_DAMAGED_FILE")], 3)


def test_a_live_file_that_is_missing_or_has_another_length_is_found(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", live=("b.parquet", "d.parquet"))
    (table / "b.parquet").unlink()
    (table / "d.parquet").write_bytes((table / "d.parquet").read_bytes()[:-1])
    findings, opened = verified(spark, table)
    assert set(findings) == {("b.parquet", "PME_DAMAGED_FILE"), ("d.parquet", "PME_DAMAGED_FILE")}
    assert opened.tables[0].missing == 1
    messages = [row.message for row in pme.verify(spark, table, options=OPTIONS).collect()]
    assert any("version 1 of the Delta table, and it is missing" in message for message in messages)
    assert any("bytes long, and version 1 of the Delta table says" in message for message in messages)


def test_a_plaintext_live_file_is_found(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    written.plaintext(table, "p.parquet", "x")
    written.commit(table, 2, add(table, "p.parquet"))
    assert verified(spark, table)[0] == [("p.parquet", "PME_PLAINTEXT_FILE")]
    assert verified(spark, table, options={"plaintextFiles": "allow"})[1].plaintext_files == 1


def test_a_live_file_elsewhere_is_verified(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    written.encrypted(tmp_path / "other", "e.parquet", "x")
    elsewhere = tmp_path / "other" / "e.parquet"
    added = written.add(f"file://{elsewhere}", size=elsewhere.stat().st_size)
    written.commit(table, 2, added)
    findings, opened = verified(spark, table)
    assert (findings, opened.files, opened.tables[0].elsewhere) == ([], 2, 1)


@pytest.mark.parametrize("name", ["a b.parquet", "a%20b.parquet"])
def test_names_with_escapes_are_those_of_the_log(spark: SparkSession, tmp_path: Path, name: str) -> None:
    table = make(tmp_path / "t")
    written.encrypted(table, name, "x")
    in_log = name.replace("%", "%25").replace(" ", "%20")
    written.commit(table, 2, written.add(in_log, size=(table / name).stat().st_size))
    findings, opened = verified(spark, table)
    assert (findings, opened.tables[0].live, opened.tables[0].missing) == ([], 2, 0)


def test_keys_of_files_that_are_not_live_are_named_apart(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    # PyArrow leaves the other columns in plaintext.
    assert parts(spark, table) == {part: {(None, n), ("footer", n), ("pii", n)} for part, n in FILES.items()}
    (table / "b.parquet").unlink()
    rows = [row for row in pme.key_usage(spark, table, options=OPTIONS).collect() if row.part == "live"]
    assert [(row.kind, row.files, row.problems) for row in rows] == [("unknown", 1, ["PME_DAMAGED_FILE"])]


def test_nothing_is_verified_if_nobody_can_tell_which_files_are_live(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path / "t")
    for look in (pme.verify, pme.key_usage):
        monkeypatch.setattr(live, "is_installed", lambda: False)
        with pytest.raises(pme.UnsupportedError, match=r"not known: the session has no Delta.*pip install deltalake"):
            look(spark, table, options=OPTIONS)
        monkeypatch.undo()
        (table / "_delta_log" / f"{0:020}.json").rename(tmp_path / "first")
        with pytest.raises(pme.UnsupportedError, match="not known: commits are missing"):
            look(spark, table, options=OPTIONS)
        (tmp_path / "first").rename(table / "_delta_log" / f"{0:020}.json")
    # Of several tables, none is guessed.
    with pytest.raises(pme.UnsupportedError, match="the session has no Delta"):
        pme.verify(spark, tmp_path, options=OPTIONS)
    # SQL cannot ask `deltalake`.
    with pytest.raises(Exception, match="the session has no Delta") as failed:
        spark.sql(f"SELECT * FROM pme_verify('{table}', options => map('kms', '{TEST_KMS}'))").collect()
    assert condition(failed.value) == "PME_UNSUPPORTED"


def test_a_single_file_needs_no_log(spark: SparkSession, tmp_path: Path) -> None:
    findings, opened = verified(spark, make(tmp_path / "t") / "c.parquet")
    assert (findings, opened.files, opened.tables) == ([], 1, ())


@pytest.mark.parametrize("log", ["metadata/v1.metadata.json", ".hoodie/hoodie.properties"])
def test_iceberg_and_hudi_tables_are_refused(spark: SparkSession, tmp_path: Path, log: str) -> None:
    written.encrypted(tmp_path / "t" / "data", "a.parquet", "x")
    (tmp_path / "t" / log).parent.mkdir()
    (tmp_path / "t" / log).write_text("{}")
    name = "pme.iceberg.check" if "metadata" in log else "through Hudi"
    for look in (pme.verify, pme.key_usage):
        for path in (tmp_path, tmp_path / "t"):
            with pytest.raises(pme.UnsupportedError, match=name):
                look(spark, path, options=OPTIONS)
    assert verified(spark, tmp_path / "t" / "data" / "a.parquet")[0] == []


@pytest.mark.parametrize("other", [".hoodie/hoodie.properties", "_spark_metadata/0"])
def test_a_directory_with_two_logs_is_refused(spark: SparkSession, tmp_path: Path, other: str) -> None:
    table = make(tmp_path / "t")
    (table / other).parent.mkdir()
    (table / other).write_text("{}")
    for look in (pme.verify, pme.key_usage):
        for path in (tmp_path, table):
            with pytest.raises(pme.UnsupportedError, match="the logs of several tables"):
                look(spark, path, options=OPTIONS)


def test_inspect_says_which_files_are_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path / "t")
    found = pme.inspect(table)
    assert {file.file: file.live for file in found.files} == {
        "a.parquet": False,
        "b.parquet": True,
        "c.parquet": False,
    }
    assert "version 1: 1 of these files live, 2 not (by deltalake)" in str(found)
    above = pme.inspect(tmp_path)
    assert {os.path.basename(file.file): file.live for file in above.files} == {  # noqa: PTH119 - names only
        file.file: file.live for file in found.files
    }
    [one] = found.to_dict()["tables"]
    assert (one["version"], one["live"], one["not_live"], one["live_by"]) == (1, 1, 2, "deltalake")
    monkeypatch.setattr("pme_parquet._delta_log.live.is_installed", lambda: False)
    found = pme.inspect(table)
    assert {file.live for file in found.files} == {None}
    assert "which of its files are live is not known: the package deltalake is not installed" in str(found)


def test_inspect_asks_the_session_only_if_deltalake_cannot_tell(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    assert pme.inspect(table, spark=spark).tables[0].live_by == "deltalake"
    (table / "_delta_log" / f"{0:020}.json").unlink()
    [found] = pme.inspect(table, spark=spark).tables
    assert (found.version, found.live) == (None, None)
    assert found.live_problem.endswith("; the session has no Delta")


def test_a_report_says_what_is_not_live(spark: SparkSession, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    pme.report(make(tmp_path / "t"), out=page, spark=spark, options=OPTIONS)
    assert "2 files not live" in page.read_text()
    assert "2 files checked with keys" not in page.read_text()


def test_the_commands_say_the_same(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.version
    table, kms = make(tmp_path / "t"), ("-o", f"kms={TEST_KMS}")
    done = run("verify", table, *kms, "--json")
    [shown] = done.document["opened"]["tables"]
    assert (done.code, shown["version"], shown["live_by"], shown["not_live"]) == (0, 1, "deltalake", 2)
    assert "2 files not live or of change data: not opened" in run("verify", table, *kms).out
    assert run("verify", table, *kms, "--all-files", "--json").document["opened"]["files"] == 3
    used = run("key-usage", table, *kms, "--json").document["keys"]
    assert {(row["part"], row["files"]) for row in used} == set(FILES.items())
    assert "not live" in run("key-usage", table, *kms).out
    assert run("inspect", table, "--json").document["tables"][0]["live"] == 1
