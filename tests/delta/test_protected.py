"""Which columns a check takes as protected, what it refuses, and where it reads."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
import s3fs

import pme_parquet as pme
from tests.delta import written
from tests.support.kms.moto_server import Moto

if TYPE_CHECKING:
    from pathlib import Path

KEYS = "parquet.encryption.column.keys"
INNER = {"type": "struct", "fields": [written.field("city"), written.field("zip")]}
LIST = {"type": "array", "elementType": "string", "containsNull": True}
NESTED = (written.field("ssn"), written.field("address", INNER), written.field("tags", LIST), written.field("id"))


def values(**of: Any) -> dict[str, Any]:
    return written.add("a.parquet", {"minValues": of})


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("SSN", {"ssn"}),
        (["address"], {"address.city", "address.zip"}),
        (["address.city"], {"address.city"}),
        (["tags.element", "id"], {"id"}),
        (["ssn", "`address`.`zip`"], {"ssn", "address.zip"}),
    ],
    ids=str,
)
def test_named_columns(tmp_path: Path, columns: str | list[str], expected: set[str]) -> None:
    stats = values(ssn="x", address={"city": "x", "zip": "x"}, id="x")
    written.commit(tmp_path, 0, written.metadata(*NESTED), stats)
    found = pme.delta.check(tmp_path, columns=columns)
    assert {one.column for one in found.findings if one.kind == "statistics"} == expected
    assert found.columns_from == "as named"


@pytest.mark.parametrize(
    ("columns", "error", "says"),
    [
        (["snn"], pme.UnknownColumnError, "Its columns are ssn, tags, id, address.city, address.zip"),
        (["address.street"], pme.UnknownColumnError, "'address.street'"),
        (["a..b"], pme.BadOptionError, "is not the name of a column"),
        ([""], pme.BadOptionError, "is not the name of a column"),
        ([], pme.BadOptionError, "columns is empty"),
    ],
    ids=str,
)
def test_a_name_that_is_no_column_is_refused(
    tmp_path: Path, columns: list[str], error: type[pme.PmeError], says: str
) -> None:
    written.commit(tmp_path, 0, written.metadata(*NESTED))
    with pytest.raises(error, match=says):
        pme.delta.check(tmp_path, columns=columns)


@pytest.mark.parametrize(
    ("make", "properties", "expected"),
    [
        ({"uniform": False, "plaintext_footer": True}, {}, ("ssn",)),
        ({"uniform": False, "plaintext_footer": True}, {KEYS: "pii: note"}, ("note", "ssn")),
        ({"uniform": False, "plaintext_footer": False}, {KEYS: "pii: ssn, note; pay: id"}, ("id", "note", "ssn")),
        ({"uniform": False, "plaintext_footer": False}, {KEYS: '{"arn:aws:x": ["ssn"]}'}, ("ssn",)),
        ({"uniform": True, "plaintext_footer": False}, {}, ("id", "note", "ssn")),
        (None, {"parquet.encryption.uniform.key": "k"}, ("id", "note", "ssn")),
        (None, {}, ()),
    ],
)
def test_columns_that_are_not_named(
    tmp_path: Path, make: dict[str, bool] | None, properties: dict[str, str], expected: tuple[str, ...]
) -> None:
    if make is None:
        written.plaintext(tmp_path, "a.parquet", "x")
    else:
        written.encrypted(tmp_path, "a.parquet", "x", **make)
    written.commit(tmp_path, 0, written.metadata(**properties), written.add("a.parquet"))
    found = pme.delta.check(tmp_path)
    assert found.columns == expected
    assert bool(expected) != ("nothing protected" in {one.kind for one in found.findings})


@pytest.mark.parametrize(
    ("complete", "expected"),
    [("true", ("note", "ssn")), ("TRUE", ("note", "ssn")), ("false", ("ssn",)), ("", ("ssn",))],
)
def test_complete_columns_protects_all_columns_that_are_in_files(
    tmp_path: Path, complete: str, expected: tuple[str, ...]
) -> None:
    metadata = written.metadata(**{KEYS: "pii: ssn", "parquet.encryption.Complete.Columns": complete})
    metadata["metaData"]["partitionColumns"] = ["ID"]
    operation = {"commitInfo": {"operationParameters": {"predicate": '["(note#1 = x)"]'}}}
    added = written.add("a.parquet", {"minValues": {"note": "x"}}, partitionValues={"id": "1"})
    written.commit(tmp_path, 0, metadata, added, operation)
    found = pme.delta.check(tmp_path)
    assert found.columns == expected
    kinds = {(one.kind, one.column) for one in found.findings if one.severity == "high"}
    assert kinds == ({("predicate", "note"), ("statistics", "note")} if "note" in expected else set())


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("[]", set()),
        ("true", set()),
        ('[{"actionType":"insert"}]', set()),
        ('[{"actionType":"insert","predicate":"(x#1 = y)"}]', {"*"}),
        ("dropped = 3", {"*"}),
        ('["(redacted_by_pme_parquet() OR NOT redacted_by_pme_parquet())"]', set()),
        ('[{"actionType":"update","predicate":"redacted_by_pme_parquet()"}]', set()),
        ('["(redacted_by_pme_parquet() AND (dropped#3 = 3))"]', {"*"}),
        ('["(redacted_by_pme_parquet() OR (delete#3 = ***))"]', {"*"}),
        ("id = 3", {"id"}),
    ],
)
def test_any_predicate_is_a_finding_if_all_columns_are_protected(
    tmp_path: Path, predicate: str, expected: set[str]
) -> None:
    written.encrypted(tmp_path, "a.parquet", "x", uniform=True)
    operation = {"commitInfo": {"operationParameters": {"predicate": predicate}}}
    written.commit(tmp_path, 0, written.metadata(), written.add("a.parquet"), operation)
    assert {one.column for one in pme.delta.check(tmp_path).findings} == expected


def test_a_column_that_one_live_file_encrypts_and_another_does_not(tmp_path: Path) -> None:
    written.plaintext(tmp_path, "a.parquet", "x")
    written.encrypted(tmp_path, "b.parquet", "x", plaintext_footer=True)
    written.commit(tmp_path, 0, written.metadata(), written.add("a.parquet"), written.add("b.parquet"))
    [finding] = pme.delta.check(tmp_path).findings
    assert (finding.kind, finding.column, finding.file) == ("plaintext file", "ssn", "a.parquet")
    [finding] = pme.delta.check(tmp_path, columns=["note"]).findings[1:]
    assert (finding.kind, finding.column, finding.file) == ("plaintext file", "note", "a.parquet")


def test_a_file_that_is_no_longer_live_protects_nothing(tmp_path: Path) -> None:
    written.encrypted(tmp_path, "a.parquet", "x", plaintext_footer=True)
    written.commit(tmp_path, 0, written.metadata(), written.add("a.parquet"))
    written.commit(tmp_path, 1, written.remove("a.parquet"))
    assert pme.delta.check(tmp_path).columns == ()


def test_what_is_no_delta_table_is_refused(tmp_path: Path) -> None:
    written.plaintext(tmp_path, "a.parquet", "x")
    with pytest.raises(pme.BadOptionError, match="is not a Delta table"):
        pme.delta.check(tmp_path)
    with pytest.raises(pme.BadOptionError, match="there is nothing at this path"):
        pme.delta.check(tmp_path / "gone")


def test_without_deltalake_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    written.commit(tmp_path, 0, written.metadata())
    with pytest.raises(pme.UnsupportedError, match="pip install deltalake"):
        pme.delta.check(tmp_path)


def test_a_kms_without_a_session_is_refused(tmp_path: Path) -> None:
    written.commit(tmp_path, 0, written.metadata())
    with pytest.raises(pme.BadOptionError, match="kms is for a session, and spark is missing"):
        pme.delta.check(tmp_path, kms="vault")


@pytest.mark.parametrize(
    "name", ["parquet.encryption.column.keys", "PARQUET.Encryption.Column.Keys", "delta.encryption.column_keys"]
)
def test_a_property_protects_columns_in_any_letter_case(tmp_path: Path, name: str) -> None:
    written.commit(tmp_path, 0, written.metadata(**{name: "pii: ssn"}))
    found = pme.delta.check(tmp_path)
    assert (found.columns, found.columns_from) == (("ssn",), "parquet.encryption.column.keys")
    assert found.findings == ()


def test_without_pyarrow_a_checkpoint_is_not_taken_for_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written.commit(tmp_path, 0, written.metadata())
    written.plaintext(tmp_path / "_delta_log", f"{0:020}.checkpoint.parquet", "x")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    findings = pme.delta.check(tmp_path, columns=["ssn"]).findings
    assert [one.severity for one in findings if "this needs the package pyarrow" in one.what] == ["unread"]


def test_a_directory_that_cannot_be_listed_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written.commit(tmp_path, 0, written.metadata())
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def refusing(path: Any) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(13, "refused", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert [(one.kind, one.file) for one in pme.delta.check(tmp_path, columns=["ssn"]).findings] == [
        ("not looked at", "closed")
    ]


def test_a_table_in_s3_has_the_same_findings_as_on_disk(tmp_path: Path) -> None:
    written.plaintext(tmp_path, "a.parquet", "x")
    written.commit(tmp_path, 0, written.metadata(), values(ssn="x"))
    with Moto() as moto:
        reached = {"key": "nobody", "secret": "nothing", "endpoint_url": moto.url}
        files = s3fs.S3FileSystem(**reached)
        files.mkdir("bucket")
        files.put(str(tmp_path), "bucket/people", recursive=True)
        there = pme.delta.check("s3a://bucket/people", columns=["ssn"], storage_options=reached).to_dict()
    here = pme.delta.check(tmp_path, columns=["ssn"]).to_dict()
    assert len(here["findings"]) == 2
    assert there | {"path": "", "storage": ""} == here | {"path": ""}
