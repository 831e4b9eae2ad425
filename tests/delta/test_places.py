"""Each place of a log that can show something of a protected column is looked at."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import pme_parquet as pme
from tests.delta import written
from tests.delta.canaries import assert_told
from tests.support.interop import arrow_files
from tests.support.interop.modes import GCM, Mode

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "CANARY-4711"
FIRST = "_delta_log/00000000000000000000.json"
SSN = {"ssn": CANARY}


def info(**fields: Any) -> dict[str, Any]:
    return {"commitInfo": {"operation": "X", "operationParameters": {}} | fields}


def stats(**fields: Any) -> dict[str, Any]:
    return written.add("a", {"numRecords": 1} | fields)


def schema(*fields: dict[str, Any], **configuration: str) -> dict[str, Any]:
    return written.metadata(*fields, written.field("ssn"), **configuration)


ACTIONS = {
    "minimum": (stats(minValues=SSN), "statistics", "high"),
    "maximum": (stats(maxValues=SSN), "statistics", "high"),
    "null count": (stats(nullCount={"ssn": 4711}), "null count", "low"),
    "statistics of another kind": (stats(histogram={"ssn": [CANARY]}), "text", "low"),
    "statistics of a removed file": (
        {"remove": {"path": "a", "stats": json.dumps({"minValues": SSN})}},
        "statistics",
        "high",
    ),
    "partition value": (written.add("a", partitionValues=SSN), "partition value", "high"),
    "partition value of change data": ({"cdc": {"path": "a", "partitionValues": SSN}}, "partition value", "high"),
    "directory": (written.add(f"SSN={CANARY}/a"), "partition value", "high"),
    "partition column": (
        {"metaData": written.metadata()["metaData"] | {"partitionColumns": ["ssn"]}},
        "partition column",
        "low",
    ),
    "tag": (written.add("a", tags={"min": f"ssn {CANARY}"}), "text", "low"),
    "predicate of Spark": (
        info(operationParameters={"predicate": f'["(ssn#12 = {CANARY})"]'}),
        "predicate",
        "high",
    ),
    "predicates of MERGE": (
        info(operationParameters={"matchedPredicates": f'[{{"predicate":"(T.SSN = {CANARY})"}}]'}),
        "predicate",
        "high",
    ),
    "constraint that is added": (
        info(operationParameters={"name": "c", "expr": f"`ssn` > '{CANARY}'"}),
        "predicate",
        "high",
    ),
    "default that is added": (
        info(operationParameters={"columns": f'[{{"column":"ssn","CURRENT_DEFAULT":"{CANARY}"}}]'}),
        "text",
        "high",
    ),
    "metrics": (info(operationMetrics={"x": f"ssn {CANARY}"}), "text", "low"),
    "user metadata": (info(userMetadata=f"deleted ssn {CANARY}"), "text", "low"),
    "default": (
        written.metadata(written.field("ssn", CURRENT_DEFAULT=f"'{CANARY}'")),
        "default",
        "high",
    ),
    "identity": (
        written.metadata(written.field("ssn", "long", **{"delta.identity.highWaterMark": CANARY})),
        "statistics",
        "high",
    ),
    "generated column": (
        schema(written.field("g", **{"delta.generationExpression": f"ssn || '{CANARY}'"})),
        "generated column",
        "high",
    ),
    "comment of another column": (schema(written.field("g", comment=f"ssn {CANARY}")), "text", "low"),
    "constraint": (schema(**{"delta.constraints.c": f"ssn <> '{CANARY}'"}), "constraint", "high"),
    "property": (schema(mine=f"ssn {CANARY}"), "text", "low"),
    "action of another kind": ({"new": {"about": f"ssn {CANARY}"}}, "text", "low"),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_an_action(tmp_path: Path, name: str) -> None:
    action, kind, severity = ACTIONS[name]
    written.commit(tmp_path, 0, written.metadata(), action)
    found = pme.delta.check(tmp_path, columns=["ssn"])
    assert_told(tmp_path, found, [CANARY])
    assert (kind, severity, "ssn", FIRST) in {(one.kind, one.severity, one.column, one.file) for one in found.findings}


NAMES = {
    "partitioning": info(operationParameters={"partitionBy": '["ssn"]', "zOrderBy": '["ssn"]'}),
    "clustering": {
        "domainMetadata": {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["ssn"]]}'}
    },
    "keys": info(operationParameters={"properties": '{"parquet.encryption.column.keys":"pii: ssn"}'}),
    "another column's statistics": stats(minValues={"id": "1"}, nullCount={"id": 0}),
    "another column's predicate": info(operationParameters={"predicate": "id = 5 AND ssn_2 > 3 AND t.note.ssns = 1"}),
    "all rows": info(operationParameters={"predicate": "[]"}),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_alone_is_no_finding(tmp_path: Path, name: str) -> None:
    written.commit(tmp_path, 0, written.metadata(), NAMES[name])
    written.encrypted(tmp_path, "a", "x", plaintext_footer=True)
    found = pme.delta.check(tmp_path, columns=["ssn"])
    assert found.findings == ()


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("00000000000000000000.crc", {"allFiles": [stats(minValues=SSN)["add"]]}),
        ("00000000000000000000.crc", {"metadata": ACTIONS["default"][0]["metaData"]}),
        ("00000000000000000000.00000000000000000001.compacted.json", stats(minValues=SSN)),
        ("_staged_commits/00000000000000000001.a.json", stats(minValues=SSN)),
        ("_last_checkpoint", {"version": 1, "v2Checkpoint": {"nonFileActions": [ACTIONS["default"][0]]}}),
    ],
)
def test_a_file_of_the_log(tmp_path: Path, name: str, document: dict[str, Any]) -> None:
    written.commit(tmp_path, 0, written.metadata())
    written.put(tmp_path, name, document)
    found = pme.delta.check(tmp_path, columns=["ssn"])
    assert assert_told(tmp_path, found, [CANARY]) == {f"_delta_log/{name}"}


@pytest.mark.parametrize(
    "name",
    [
        "00000000000000000001.checkpoint.parquet",
        "00000000000000000001.checkpoint.0000000001.0000000002.parquet",
        "_sidecars/a.parquet",
    ],
)
@pytest.mark.parametrize(
    "action",
    [
        {"path": "a", "stats": json.dumps({"minValues": SSN})},
        {"path": "a", "stats_parsed": {"maxValues": SSN}},
        {"path": "a", "partitionValues_parsed": SSN},
        {"path": "a", "partitionValues": [("ssn", CANARY)]},
    ],
    ids=lambda action: list(action)[-1],
)
def test_a_checkpoint(tmp_path: Path, name: str, action: dict[str, Any]) -> None:
    written.commit(tmp_path, 0, written.metadata())
    maps = pa.map_(pa.string(), pa.string())
    if "partitionValues" in action:
        rows = pa.array([action], pa.struct([("path", pa.string()), ("partitionValues", maps)]))
    else:
        rows = pa.array([action])
    path = tmp_path / "_delta_log" / name
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"add": rows}), path)
    assert assert_told(tmp_path, pme.delta.check(tmp_path, columns=["ssn"]), [CANARY]) == {f"_delta_log/{name}"}


def test_an_encrypted_checkpoint_is_noted_with_its_key(tmp_path: Path) -> None:
    written.commit(tmp_path, 0, written.metadata())
    name = "00000000000000000000.checkpoint.parquet"
    mode = Mode(uniform=True, plaintext_footer=False, algorithm=GCM, bits=128, external=False, double_wrapping=True)
    arrow_files.write(written.rows(CANARY), tmp_path / "_delta_log" / name, mode)
    found = pme.delta.check(tmp_path, columns=["ssn"])
    assert [(one.kind, one.file, one.what) for one in found.findings] == [
        ("encrypted checkpoint", f"_delta_log/{name}", "it is encrypted; its footer under key 'footer'")
    ]
    assert (found.ok, found.version) == (True, 0)
    # Without the commits before it, only the checkpoint says which files are live.
    written.commit(tmp_path, 1, written.PROTOCOL, written.metadata())
    (tmp_path / "_delta_log" / f"{0:020}.json").unlink()
    found = pme.delta.check(tmp_path, columns=["ssn"])
    assert {one.kind for one in found.findings} == {"encrypted checkpoint", "unsupported table"}


def test_a_checkpoint_with_an_encrypted_part_is_not_read_as_the_whole_one(tmp_path: Path) -> None:
    write_deltalake(tmp_path, written.rows("1"))
    of = DeltaTable(tmp_path)
    of.create_checkpoint()
    log = tmp_path / "_delta_log"
    name = f"{0:020}.checkpoint"
    (log / f"{name}.parquet").rename(log / f"{name}.{1:010}.{2:010}.parquet")
    mode = Mode(uniform=True, plaintext_footer=False, algorithm=GCM, bits=128, external=False, double_wrapping=True)
    arrow_files.write(written.rows(CANARY), log / f"{name}.{2:010}.{2:010}.parquet", mode)
    assert pme.delta.check(tmp_path, columns=["ssn"]).looked_at["files live"] == 1
    (log / f"{0:020}.json").unlink()
    assert "files live" not in pme.delta.check(tmp_path, columns=["ssn"]).looked_at


@pytest.mark.parametrize(
    ("properties", "engine", "expected"),
    [
        ({"delta.checkpointInterval": "2"}, "any", ["2, 4"]),
        ({}, "Apache-Spark/4.1.1 Delta-Lake/4.4.0", ["10"]),
        ({}, "any", []),
        ({"delta.checkpointInterval": "9" * 5000}, "any", []),
    ],
)
def test_a_checkpoint_that_is_missing(
    tmp_path: Path, properties: dict[str, str], engine: str, expected: list[str]
) -> None:
    by = {"commitInfo": {"engineInfo": engine}}
    written.commit(tmp_path, 0, written.metadata(**properties), by)
    for version in range(1, 6 if properties else 12):
        written.commit(tmp_path, version, by)
    findings = [one for one in pme.delta.check(tmp_path, columns=["ssn"]).findings if one.kind == "missing checkpoint"]
    assert [one.what.split(" of version ")[1].split(", although")[0] for one in findings] == expected


def test_physical_and_earlier_names(tmp_path: Path) -> None:
    name = "delta.columnMapping.physicalName"

    def mapped(logical: str) -> dict[str, Any]:
        inner = {"type": "struct", "fields": [written.field("city", **{name: "col-c"})]}
        return written.metadata(
            written.field(logical, **{name: "col-s"}),
            written.field("address", inner, **{name: "col-a"}),
            written.field("other", **{name: "col-o"}),
        )

    written.commit(tmp_path, 0, mapped("ssn"), stats(minValues={"col-s": CANARY, "col-o": "x"}))
    written.commit(tmp_path, 1, info(operationParameters={"predicate": f"(ssn#1 = {CANARY})"}))
    written.commit(tmp_path, 2, mapped("tax_id"), stats(maxValues={"col-a": {"col-c": CANARY}}))
    written.commit(tmp_path, 3, info(operationParameters={"predicate": f"(address#2.city = {CANARY})"}))
    found = pme.delta.check(tmp_path, columns=["tax_id", "address.city"])
    assert {(one.kind, one.column, one.file[-6]) for one in found.findings if one.severity == "high"} == {
        ("statistics", "tax_id", "0"),
        ("predicate", "tax_id", "1"),
        ("statistics", "address.city", "2"),
        ("predicate", "address.city", "3"),
    }


def test_deletion_vectors_are_noted(tmp_path: Path) -> None:
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 36}
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"]}
    removed = written.remove("a")["remove"] | {"deletionVector": vector | {"cardinality": 1}}
    first = {"protocol": protocol | {"writerFeatures": ["deletionVectors"]}}
    written.put(tmp_path, f"{0:020}.json", first, written.metadata(), {"remove": removed})
    (tmp_path / "deletion_vector_1.bin").write_bytes(b"\x01rows")
    found = pme.delta.check(tmp_path, columns=["ssn"])
    assert [one.kind for one in found.findings] == ["deletion vectors"]
    assert found.ok
