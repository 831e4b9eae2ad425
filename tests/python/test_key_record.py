"""`pme.key_record`: reads the record of uses of keys, and says what is wrong with it."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support.markdown import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def lines_of(*events: dict[str, Any]) -> list[str]:
    """The lines of a record, chained as the connector chains them."""
    lines: list[str] = []
    for number, event in enumerate(events, start=1):
        previous = sha256(lines[-1].encode()).hexdigest() if lines else "0" * 64
        lines.append(json.dumps({"number": number, **event, "previous": previous}))
    return lines


def use(key: str, result: str = "granted", **more: Any) -> dict[str, Any]:
    of_all = {"event": "use", "time": "2026-01-02T12:00:00Z", "user": "ann", "purpose": "read", "table": "/data/t"}
    return of_all | more | {"master_key": key, "result": result}


WHOLE = lines_of(
    {"event": "begin", "process": 7, "writer": "w"},
    use("pii"),
    use("pay", "refused", condition="PME_KEY_DENIED"),
    use("pii", purpose="rotate", time="2026-02-02T12:00:00Z"),
    {"event": "end", "writer": "w", "uses": 3, "missed": 0},
)


def record_of(folder: Path, lines: list[str], **arguments: Any) -> pme.KeyRecord:
    (folder / "keys.jsonl").write_text("".join(line + "\n" for line in lines))
    return pme.key_record(folder / "keys.jsonl", **arguments)


def test_a_whole_record_shows_the_last_use_of_each_key(tmp_path: Path) -> None:
    record = record_of(tmp_path, WHOLE)
    assert record.problems == ()
    assert {key: (last.purpose, last.number) for key, last in record.last_use.items()} == {"pii": ("rotate", 4)}
    assert record.uses[1].condition == "PME_KEY_DENIED"
    assert "2 master keys" in str(record)
    assert "PME" not in str(record)


def test_a_stored_record_is_read(tmp_path: Path) -> None:
    stored = ROOT / "tests" / "data" / "formats" / "key-record-1" / "keys.jsonl"
    record = pme.key_record(shutil.copy(stored, tmp_path))
    assert (record.problems, record.head[0], len(record.uses)) == ((), 6, 4)
    assert {key: last.purpose for key, last in record.last_use.items()} == {"footer": "read", "pii": "write"}
    assert record.uses[-1].condition == "PME_NOT_AUTHENTIC"


def test_files_that_were_set_aside_belong_to_the_record(tmp_path: Path) -> None:
    (tmp_path / "keys.jsonl.000000000003").write_text("".join(line + "\n" for line in WHOLE[:3]))
    record = record_of(tmp_path, WHOLE[3:])
    assert (record.problems, record.head[0]) == ((), 5)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([*WHOLE[:2], *WHOLE[3:]], "Line 4 does not follow line 2"),
        ([WHOLE[0], WHOLE[1].replace("ann", "bob"), *WHOLE[2:]], "Line 3 does not follow line 2"),
        ([*WHOLE[:2], '{"number": 3, "ev'], "no whole line"),
        (WHOLE[:4], "has no end"),
        (lines_of({"event": "missed", "uses": 2}), "2 uses could not be recorded"),
        (lines_of({"event": "new"}), "does not know"),
        (lines_of(use("pii", requests=5)), "no whole line"),
        (["[" * 100_000], "no whole line"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, lines: list[str], problem: str) -> None:
    assert any(problem in one for one in record_of(tmp_path, lines).problems)


def test_lines_that_were_cut_off_are_found_by_an_earlier_head(tmp_path: Path) -> None:
    head = record_of(tmp_path, WHOLE).head
    assert record_of(tmp_path, WHOLE, holds=json.loads(json.dumps(head))).problems == ()
    assert any("Line 5" in one for one in record_of(tmp_path, WHOLE[:1], holds=head).problems)


def test_without_a_record_the_error_names_the_option(tmp_path: Path) -> None:
    with pytest.raises(pme.BadOptionError, match=r"audit\.file"):
        pme.key_record(tmp_path / "none.jsonl")
