"""`pme.query_stats` without the connector: what it returns, shows and refuses."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from tests.support.expect import refused

if TYPE_CHECKING:
    import pytest

NOTE = "Scans of cached data are not counted."
PEOPLE = {
    "path": "file:/people",
    "version": 3,
    "files": 4000,
    "filesRead": 12,
    "bytes": 40 * 1024 * 1024,
    "bytesRead": 120 * 1024,
    "skippedBy": [
        {"kind": "minMax", "column": ["day"], "files": 3900},
        {"kind": "bloom", "column": ["address", "zip"], "files": 1},
    ],
}
ORDERS: dict[str, Any] = {
    "path": "orders\x1b[2J",
    "version": None,
    "files": 1,
    "filesRead": 1,
    "bytes": 9,
    "bytesRead": 9,
    "skippedBy": [],
}


def stats(monkeypatch: pytest.MonkeyPatch, document: dict[str, Any]) -> pme.QueryStats:
    connector = SimpleNamespace(json=lambda frame: json.dumps(document) if frame == "frame" else "")
    monkeypatch.setattr("pme_parquet._operations.query_stats.object_of", lambda *_: connector)
    frame: Any = SimpleNamespace(sparkSession=None, _jdf="frame")
    return pme.query_stats(frame)


def test_scans_are_returned_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    found = stats(monkeypatch, {"scans": [PEOPLE, ORDERS], "notes": [NOTE]})
    people = found.scans[0]
    assert (people.path, people.version, people.files, people.files_read) == ("file:/people", 3, 4000, 12)
    assert (people.bytes, people.bytes_read) == (41943040, 122880)
    assert people.skipped_by[1] == pme.SkippedFiles("bloom", ("address", "zip"), 1)
    assert (found.files, found.files_read, found.notes) == (4001, 13, (NOTE,))
    assert json.loads(json.dumps(found.to_dict()))["scans"][1]["skipped_by"] == []
    bloom = "minMax of day: 3,900 files; bloom of address.zip: 1 file"
    assert str(found).splitlines() == [
        "13 of 4,001 files read, in 2 scans",
        "",
        "  table          version      files read   size read              skipped by",
        f"  file:/people   3            12 of 4,000  120.0 KiB of 40.0 MiB  {bloom}",
        r"  orders\x1b[2J  no snapshot  1 of 1       9 B of 9 B             nothing",
        "",
        NOTE,
    ]
    assert "<td" in found._repr_html_()


def test_a_query_without_scans_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = stats(monkeypatch, {"scans": []})
    assert (found.scans, found.files, str(found)) == ((), 0, "The query scans no table in the format pme-parquet.")


def test_many_scans_are_counted_and_not_all_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = str(stats(monkeypatch, {"scans": [ORDERS] * 60}))
    assert "and 10 more scans; to_dict() lists all" in shown


def test_what_is_no_frame_and_spark_connect_are_refused() -> None:
    not_a_frame: Any = "SELECT 1"
    with refused("PME_BAD_OPTION", "pme.query_stats: df is a str. Give the DataFrame of a query."):
        pme.query_stats(not_a_frame)
    connect: Any = SimpleNamespace(sparkSession=object())
    with refused("PME_UNSUPPORTED", "pme.query_stats: it is not supported over Spark Connect"):
        pme.query_stats(connect)
