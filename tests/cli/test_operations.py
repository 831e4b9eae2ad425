"""What commands hand over to operations, what they print of the results, and how they exit: without Spark."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException

import pme_parquet as pme
from pme_parquet._doctor.diagnosis import Check
from pme_parquet._encryption import Encryption
from pme_parquet._operations.compaction import Compacted, CompactedFile, LeftFile
from pme_parquet._operations.copies import Copied, FailedFile
from pme_parquet._operations.migration import Migrated, MigrationPlan
from pme_parquet._operations.operation import error_of
from pme_parquet._operations.recovery import Recovered
from pme_parquet._operations.rotation import RotatedFile, RotationReport
from pme_parquet._operations.sealing import Sealed
from pme_parquet._operations.verify import Opened
from pme_parquet._plan import Plan, PlannedColumn, PlannedFiles, Refusal, UnmatchedPattern
from pme_parquet._report.facts import KeyUse
from pme_parquet._report.make import Made
from pme_parquet.errors import BY_CONDITION
from tests.support.commands import Finding, Frame, Stub, run

AWS = ["--kms", "aws", "-o", "kms.aws.region=eu"]
OF_AWS = {"kms": "aws", "kms.aws.region": "eu"}
COPIED = Copied(files=3, rows=300, pages=9, bytes=2048)
OPENED = Opened(files=3, modules=40, untagged_pages=0, bytes=4096, skipped_files=0, skipped_pages=0, sample=None)
CLEAN = Frame(opened=OPENED)
DAMAGED = Finding("PME_DAMAGED_FILE", "[PME_DAMAGED_FILE] people/part-0.parquet is damaged: it is cut. Restore it.")
LACKING = Finding("PME_KEY_NOT_FOUND", "[PME_KEY_NOT_FOUND] people/part-0.parquet: there is no key 'pii'. Create it.")
PII = KeyUse("pii", 2, "column", "double", "internal", 3, ("name",), 2048, 300, 0, ("name",), ("pay",), (), (128,), ())
LOST = replace(PII, master_key="footer", version=None, kind="footer", unreadable_files=3, rows=None, bytes=None)
RECOVERED = Recovered(files=2, rows=200, rows_left_out=0, rows_with_loss=0, lost_files=0)


@dataclass(frozen=True)
class Lost(Frame):
    """What `pme.recover` returns."""

    recovered: Recovered = RECOVERED


ROTATED = RotatedFile("people/part-1.parquet", "rotated", ["pay"], 2, [], "internal", None, None)
FAILED = RotatedFile("people/part-0.parquet", "failed", [], 0, [], None, "PME_DAMAGED_FILE", DAMAGED.message)
ROTATION = RotationReport([ROTATED, replace(ROTATED, file="people/part-2.parquet"), FAILED], dry_run=False)
SEALED = Sealed(1, "d" * 64, "new/_pme_snapshots", 2, 200, 2048, 2, 0, 0, 2, "Ed25519", "s", "t")
COMPACTED = Compacted(
    (CompactedFile("people", "compacted-1.parquet", ("a.parquet", "b.parquet"), 200, 4096, 2048),),
    (LeftFile("people/c.parquet", "it has no rows"),),
    put_right=False,
    sealed=SEALED,
)
ERASED = pme.Erasure("planned", "k", "at once", (pme.ErasedKey("t-a", "usable"),), (), (), {"state": "planned"})
COLUMN = PlannedColumn("name", "name", "string", "pii", "column key", "name", bloom_filter=False)
FILES = PlannedFiles("encrypted", "f", "aws", "AES_GCM_V1", "envelope", 128, 128, "internal", None, True, "footerKey")  # noqa: FBT003
PLAN = Plan((COLUMN,), (), (), FILES, ())


@pytest.fixture(autouse=True)
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the working directory one with a table `people`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people").mkdir()
    return tmp_path / "people"


@pytest.fixture(autouse=True)
def results(stub: Stub) -> dict[str, Any]:
    """Let each command succeed."""
    stub.results |= dict.fromkeys(("encrypt", "rekey", "decrypt"), COPIED) | {
        "verify": CLEAN,
        "key-usage": Frame((PII,)),
        "migrate-orc": Migrated(files=2, rows=200, bytes=2048, already=1),
        "recover": Lost(),
        "compact": COMPACTED,
        "rotate": RotationReport([ROTATED], dry_run=False),
        "erase": ERASED,
        "plan": PLAN,
        "doctor": pme.Diagnosis((Check("Spark", "ok", "4.3.0"),)),
        "report": Made(Path("report.html"), ()),
    }
    return stub.results


OWN = ["--footer-key", "f", "--column-key", "pii=name"]
WRITING = {"footerKey": "f", "columnKeys": json.dumps({"pii": ["name"]})}
ANOTHER = ["--source-option", "kms=vault", "--source-option", "aadPrefix=p"]
OF_ANOTHER = {"kms": "vault", "aadPrefix": "p"}
# The source's own KMS counts, not that of the copy.
OF_BOTH = OF_AWS | OF_ANOTHER
COPY = {"source": "people", "target": "new", "progress": True}
ROTATE = {"path": "people", "master_keys": None, "key_material": None, "dry_run": False, "allow_unused": False}
ERASE = {"partitions": {"tenant": "a"}, "also": None, "other_tables": ["o"], "signing": None, "by": None}
MIGRATE = {"bloom_filters": True, "seal": False, "signing": None, "dry_run": False}
RECOVER = {"lost": "rows", "unauthenticated": False, "like": None, "seal": False, "signing": None}
LOOK = {"path": "people", "options": OF_AWS, "progress": True}
HANDED_OVER: list[tuple[list[str], dict[str, Any]]] = [
    (
        ["encrypt", "people", "new", *OWN, *AWS, "-o", "algorithm=AES_GCM_CTR_V1"],
        COPY | {"in_place": False, "enc": WRITING | OF_AWS | {"algorithm": "AES_GCM_CTR_V1"}, "options": OF_AWS},
    ),
    (
        ["encrypt", "people", "--in-place", "--uniform-key", "u", *AWS],
        COPY
        | {"target": None, "in_place": True, "options": {}}
        | {"enc": {"uniformKey": "u", "keyManagement": "envelope"} | OF_AWS},
    ),
    (
        ["rekey", "people", "new", *OWN, *AWS],
        COPY | {"enc": WRITING | OF_AWS, "options": OF_AWS},
    ),
    (["rekey", "people", "new", *OWN, *ANOTHER], COPY | {"enc": WRITING, "options": OF_ANOTHER}),
    (["rekey", "people", "new", *OWN, *AWS, *ANOTHER], COPY | {"enc": WRITING | OF_AWS, "options": OF_BOTH}),
    (
        ["encrypt", "people", "new", *OWN, *AWS, *ANOTHER],
        COPY | {"in_place": False, "enc": WRITING | OF_AWS, "options": OF_BOTH},
    ),
    (
        ["decrypt", "people", "new", "--write-plaintext", *AWS, "--source-option", "aadPrefix=p", "--quiet"],
        COPY | {"write_plaintext": True, "kms": OF_AWS | {"aadPrefix": "p"}, "options": None, "progress": False},
    ),
    (
        ["migrate-orc", "people", "new", *OWN, *AWS, "--seal", "--signing-key", "s"],
        COPY | MIGRATE | {"enc": WRITING | OF_AWS, "options": OF_AWS, "seal": True, "signing": "s"},
    ),
    (
        ["migrate-orc", "people", "new", "--footer-key", "f", *ANOTHER, "--no-bloom-filters"],
        COPY
        | MIGRATE
        | {"options": OF_ANOTHER, "bloom_filters": False}
        | {"enc": {"footerKey": "f", "keyManagement": "envelope"}},
    ),
    (
        ["compact", "people", *AWS, "--target-size", "1000", "--dry-run", "--signing-key", "s"],
        LOOK | {"target_size": 1000, "dry_run": True, "after_kill": False, "signing": "s"},
    ),
    (
        ["recover", "people", "new", *OWN, *AWS, "--lost", "rows"],
        COPY | RECOVER | {"enc": WRITING | OF_AWS, "options": OF_AWS},
    ),
    (
        [
            "recover",
            "people",
            "new",
            *OWN,
            *ANOTHER,
            "--lost",
            "cells",
            "--like",
            "people/a",
            "--unauthenticated",
            "--seal",
        ],
        COPY
        | RECOVER
        | {"enc": WRITING, "options": OF_ANOTHER, "lost": "cells", "like": "people/a"}
        | {"unauthenticated": True, "seal": True},
    ),
    (["verify", "people", *AWS], LOOK | {"sample": None, "all_files": False}),
    (
        ["verify", "people", "-o", "columnKeys=pii: name", "--sample-files", "0.4", "--sample-seed", "7", "-q"],
        LOOK
        | {"options": {"columnKeys": "pii: name"}, "sample": pme.Sample(0.4, 1.0, 7), "all_files": False}
        | {"progress": False},
    ),
    (["key-usage", "people", *AWS], LOOK),
    (["rotate", "people", "--master-key", "a=b", *AWS], LOOK | ROTATE | {"master_keys": {"a": "b"}, "new_kms": None}),
    (
        ["rotate", "people", *AWS, "--new-option", "kms.aws.region=us", "--dry-run"],
        LOOK | ROTATE | {"new_kms": {"kms": "aws", "kms.aws.region": "us"}, "dry_run": True},
    ),
    (
        ["erase", "people", "t-a", "--partition", "tenant=a", "--other-table", "o", "--yes", *AWS],
        LOOK | ERASE | {"keys": ["t-a"], "dry_run": False},
    ),
    (["rotate", "people", *AWS, "--new-option", "kms=vault"], LOOK | ROTATE | {"new_kms": {"kms": "vault"}}),
    (
        ["plan", "people", *OWN, *AWS, "--partition-by", "day"],
        {"path": "people", "enc": WRITING | OF_AWS, "partition_by": ["day"]},
    ),
    (["doctor", *OWN, *AWS], {"kms": WRITING | OF_AWS, "options": None}),
    (
        ["report", "people", "--out", "page.html", *AWS, "--sample-pages", "0.5"],
        {"table": "people", "out": "page.html", "kms": OF_AWS, "sample": pme.Sample(1.0, 0.5, 0)}
        | {"storage_options": None, "progress": True},
    ),
    (
        ["report", "people", "--no-verify", "--storage-option", "anon=true"],
        {"table": "people", "out": "report.html", "storage_options": {"anon": True}},
    ),
]


@pytest.mark.parametrize(("typed", "expected"), HANDED_OVER, ids=[" ".join(typed) for typed, _ in HANDED_OVER])
def test_a_command_hands_over_what_was_typed(stub: Stub, typed: list[str], expected: dict[str, Any]) -> None:
    done = run(*typed)
    assert (done.code, done.err) == (0, "")
    assert stub.asked[0].command == typed[0]
    arguments = stub.arguments.items()
    assert {name: value.options() if isinstance(value, Encryption) else value for name, value in arguments} == expected
    assert stub.stopped is ("--no-verify" not in typed)


def test_options_may_be_in_a_file_that_the_environment_names(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("kms.json").write_text(json.dumps(OF_AWS))
    monkeypatch.setenv("PME_OPTIONS_FILE", "kms.json")
    assert run("verify", "people").code == 0
    assert stub.arguments["options"] == OF_AWS


def test_a_session_is_started_as_typed(stub: Stub) -> None:
    typed = ["--master", "yarn", "--packages", "a:b:1", "--conf", "spark.app.name=mine", "--conf", "spark.x=1=2"]
    assert run("verify", "people", *typed).code == 0
    assert {name: value for name, value in stub.started.items() if not name.startswith("spark.ui.")} == {
        "spark.master": "yarn",
        "spark.app.name": "mine",
        "spark.jars.packages": "a:b:1",
        "spark.x": "1=2",
    }
    assert stub.stopped
    assert run("verify", "people").code == 0
    assert (stub.started["spark.master"], stub.started["spark.driver.host"]) == ("local[*]", "127.0.0.1")


CODES = {
    **dict.fromkeys((pme.KeyDeniedError, pme.KeyDestroyedError, pme.KeyNotFoundError, pme.KmsUnavailableError), 3),
    **dict.fromkeys((pme.AadPrefixError, pme.AlgorithmError, pme.DamagedFileError, pme.KeyMetadataError), 1),
    **dict.fromkeys((pme.NotAuthenticError, pme.PlaintextFileError, pme.SnapshotDamagedError), 1),
    **dict.fromkeys((pme.SnapshotMismatchError, pme.SnapshotNotAuthenticError, pme.ErasureError), 1),
    **dict.fromkeys((pme.BadOptionError, pme.UnknownOptionError, pme.SecretInOptionError, pme.NoKeyError), 2),
    **dict.fromkeys((pme.UnknownColumnError, pme.UnsupportedError), 2),
    pme.AuditFailedError: 3,
    pme.SnapshotConflictError: 4,
}


@pytest.mark.parametrize(
    ("result", "code"),
    [
        *((error("people: it failed. Do this."), code) for error, code in CODES.items()),
        (AnalysisException("[PATH_NOT_FOUND] no such path"), 2),
        (Py4JError("no route to host\n\tat of.a.Stack"), 4),
        (ZeroDivisionError("of its own\nmore of it"), 4),
        (KeyboardInterrupt("pme-parquet verify was interrupted: nothing was changed."), 130),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_an_error_has_an_exit_code_and_is_one_line(results: dict[str, Any], result: BaseException, code: int) -> None:
    results["verify"] = result
    done = run("verify", "people")
    assert (done.code, done.out) == (code, "")
    assert str(result).partition("\n")[0] in done.err
    assert len(done.err.splitlines()) == 1
    document = run("verify", "people", "--json").document
    condition = getattr(result, "condition", "")
    assert document == {"error": {"condition": condition, "message": done.err.rstrip("\n")}}


def test_every_condition_has_an_exit_code() -> None:
    assert {error.condition for error in CODES} == set(BY_CONDITION)


OPERANDS: dict[str, list[str]] = {
    **{command: ["people", "new", *OWN] for command in ("encrypt", "migrate-orc", "rekey")},
    **{command: ["people"] for command in ("compact", "key-usage", "report", "rotate", "seal", "verify")},
    **{command: ["people", *OWN] for command in ("delta-encrypt", "plan")},
    "decrypt": ["people", "new", "--write-plaintext"],
    "recover": ["people", "new", *OWN, "--lost", "rows"],
    "delta-rotate": ["people", "--footer-key", "f"],
    "erase": ["people", "t-a"],
    "doctor": OWN,
}


@pytest.mark.parametrize("command", OPERANDS)
def test_a_refused_key_has_an_exit_code_in_every_command(results: dict[str, Any], command: str) -> None:
    results[command] = pme.KeyDeniedError("people: access to key 'pii' is denied. Ask for it.")
    done = run(command, *OPERANDS[command])
    assert (done.code, done.out) == (3, "")
    assert "access to key 'pii' is denied" in done.err


def test_a_session_that_a_command_started_is_stopped_when_it_fails(stub: Stub, results: dict[str, Any]) -> None:
    results["verify"] = Py4JError("no route to host")
    assert run("verify", "people").code == 4
    assert stub.stopped


@pytest.mark.parametrize(
    ("found", "code"),
    [([DAMAGED], 1), ([LACKING], 3), ([LACKING, DAMAGED], 1), ([replace(LACKING, condition=""), LACKING], 1)],
)
def test_findings_have_an_exit_code_and_missing_keys_another(
    results: dict[str, Any], found: list[Finding], code: int
) -> None:
    conditions = tuple(one.condition for one in found)
    results["verify"] = Frame(tuple(found), OPENED)
    results["key-usage"] = Frame((replace(PII, problems=conditions),))
    results["report"] = Made(Path("report.html"), conditions)
    for command in ("verify", "key-usage", "report"):
        assert run(command, "people").code == code


def test_compact_prints_the_counts_and_what_is_left(results: dict[str, Any]) -> None:
    done = run("compact", "people")
    assert (done.code, done.out.splitlines()[:2]) == (
        0,
        ["people: 2 files (4.0 KiB) became 1", "left: people/c.parquet: it has no rows"],
    )
    document = run("compact", "people", "--json").document
    assert (document["merged"][0]["replaced"], document["sealed"]["version"]) == (["a.parquet", "b.parquet"], 1)
    planned = CompactedFile("people", None, ("a.parquet", "b.parquet"), 200, 4096, None)
    results["compact"] = Compacted((planned,), (), put_right=False)
    done = run("compact", "people", "--dry-run")
    assert done.out == "people: 2 files (4.0 KiB) would become 1\n"
    assert run("compact", "people", "--dry-run", "--json").document["merged"][0]["file"] is None
    results["compact"] = Compacted((), (), put_right=False)
    assert run("compact", "people").out == "people: no file merged\n"


def test_verify_prints_what_was_opened_and_the_findings(results: dict[str, Any]) -> None:
    opened = replace(OPENED, sample=pme.Sample(0.4, 1.0, 7), skipped_files=2)
    results["verify"] = Frame((DAMAGED,), opened)
    lines = run("verify", "people").out.splitlines()
    assert lines == [f"people: {opened}; 1 finding", DAMAGED.message]
    document = run("verify", "people", "--json").document
    assert document["opened"]["sample"] == {"files": 0.4, "pages": 1.0, "seed": 7}
    assert (document["opened"]["skipped_files"], document["path"]) == (2, "people")
    assert [finding["message"] for finding in document["findings"]] == [DAMAGED.message]


def test_many_findings_of_one_cause_are_one_line(results: dict[str, Any]) -> None:
    files = [f"people/part-{number}.parquet" for number in range(3)]
    found = [replace(LACKING, file=file, message=LACKING.message.replace(LACKING.file, file)) for file in files]
    results["verify"] = Frame(tuple(found), OPENED)
    [_, line] = run("verify", "people").out.splitlines()
    assert line == "[PME_KEY_NOT_FOUND] in 3 files, as in people/part-0.parquet: there is no key 'pii'. Create it."
    assert len(run("verify", "people", "--json").document["findings"]) == 3


def test_key_usage_prints_a_table_that_fits_a_terminal(results: dict[str, Any]) -> None:
    results["key-usage"] = Frame((PII, LOST))
    first, *lines = run("key-usage", "people").out.splitlines()
    assert first == "people: 2 uses of master keys"
    assert [" ".join(line.split()) for line in lines if line] == [
        "master key kind files rows size problems unreadable columns",
        "without it",
        "pii version 2 column 3 300 2.0 KiB name, pay (not name",
        "in all files)",
        "footer footer 3 3 files name",
    ]
    assert max(map(len, lines)) <= 80
    results["key-usage"] = Frame((replace(PII, part="change data"),))
    assert "columns part" in " ".join(run("key-usage", "people").out.split())


def test_rotate_reports_all_files_when_some_fail(results: dict[str, Any]) -> None:
    results["rotate"] = error_of(FAILED, "rotated", "1 of 3 files failed", ROTATION)
    done = run("rotate", "people")
    assert done.code == 1
    assert done.out.splitlines() == ["3 files: 1 failed, 2 rotated", f"failed: {FAILED.file}: {FAILED.message}"]
    assert done.err == f"{FAILED.message} (1 of 3 files failed)\n"
    document = run("rotate", "people", "--json").document
    assert document["error"] == {"condition": "PME_DAMAGED_FILE", "message": done.err.rstrip("\n")}
    assert (document["counts"], document["dry_run"]) == ({"failed": 1, "rotated": 2}, False)
    assert [file["status"] for file in document["files"]] == ["rotated", "rotated", "failed"]


def test_files_that_were_not_encrypted_in_place_are_listed(results: dict[str, Any]) -> None:
    failed = FailedFile(FAILED.file, "PME_DAMAGED_FILE", DAMAGED.message)
    name = "people/part-1.parquet"
    other = replace(failed, file=name, message=failed.message.replace(failed.file, name))
    report = replace(COPIED, already=1, failed=(failed, other))
    results["encrypt"] = error_of(failed, "encrypted", "2 of 6 files failed", report)
    typed = ["encrypt", "people", "--in-place", "--footer-key", "f"]
    done = run(*typed)
    assert done.code == 1
    assert done.out.splitlines() == [
        "people: 3 files, 300 rows, 9 pages, 2.0 KiB; 1 file already encrypted",
        DAMAGED.message.replace("] ", "] in 2 files, as in "),
    ]
    document = run(*typed, "--json").document
    assert document["error"]["condition"] == "PME_DAMAGED_FILE"
    assert [one["condition"] for one in document["failed"]] == ["PME_DAMAGED_FILE"] * 2
    assert (document["files"], document["target"]) == (3, "people")


def test_plan_exits_with_1_if_a_pattern_matches_nothing(results: dict[str, Any]) -> None:
    refusal = Refusal("PME_UNKNOWN_COLUMN", "[PME_UNKNOWN_COLUMN] option columnKeys: 'nmae' matches no column.")
    results["plan"] = replace(PLAN, unmatched=(UnmatchedPattern("nmae", "pii", ("name",)),), refusals=(refusal,))
    done = run("plan", "people", *OWN)
    assert (done.code, done.err) == (1, "")
    assert "'nmae' of key 'pii' matches no column; nearest: name" in done.out
    assert run("plan", "people", *OWN, "--json").document == json.loads(json.dumps(results["plan"].to_dict()))


@pytest.mark.parametrize(("condition", "code"), [("PME_KEY_NOT_FOUND", 3), ("PME_DAMAGED_FILE", 1)])
def test_a_migration_that_would_fail_has_an_exit_code_and_seals_nothing(
    stub: Stub, results: dict[str, Any], condition: str, code: int
) -> None:
    plan = MigrationPlan(
        "people", "new", 2, 0, 200, 2048, (), (), (Refusal(condition, f"[{condition}] no.\x1b"),), None
    )
    results["migrate-orc"] = plan
    done = run("migrate-orc", "people", "new", *OWN, "--dry-run", "--seal")
    assert (done.code, done.err) == (code, "")
    assert rf"[{condition}] no.\x1b" in done.out
    assert (stub.arguments["seal"], stub.arguments["dry_run"]) == (False, True)
    assert run("migrate-orc", "people", "new", *OWN, "--dry-run", "--json").document == json.loads(
        json.dumps(plan.to_dict())
    )


@dataclass(frozen=True)
class LostPart:
    """A row of `pme.recover`."""

    file: str
    row_group: int | None
    column: str | None
    first_row: int | None
    rows: int | None
    condition: str
    message: str


PAGE = LostPart(DAMAGED.file, 0, "name", 5, 5, DAMAGED.condition, DAMAGED.message)
KEY = LostPart(LACKING.file, 0, "name", 0, 20, LACKING.condition, LACKING.message)


@pytest.mark.parametrize(("lost", "code"), [((), 0), ((PAGE,), 1), ((KEY,), 3), ((KEY, PAGE), 1)])
def test_recover_prints_what_came_back_and_exits_by_what_is_lost(
    results: dict[str, Any], lost: tuple[LostPart, ...], code: int
) -> None:
    came = replace(RECOVERED, rows_left_out=5 if lost else 0, sealed=SEALED)
    results["recover"] = Lost(lost, recovered=came)
    done = run("recover", *OPERANDS["recover"])
    assert (done.code, done.err) == (code, "")
    first, *others = done.out.splitlines()
    assert first == f"new: {came}"
    assert others == [*(one.message for one in lost), *str(SEALED).splitlines()]
    document = run("recover", *OPERANDS["recover"], "--json").document
    assert (document["rows"], document["target"], document["sealed"]["version"]) == (200, "new", 1)
    assert [one["first_row"] for one in document["lost"]] == [one.first_row for one in lost]
    results["recover"] = Lost((replace(PAGE, row_group=None, column=None, first_row=None, rows=None),))
    assert run("recover", *OPERANDS["recover"], "--json").document["lost"][0]["rows"] is None


def test_what_is_lost_is_listed_though_the_new_table_could_not_be_sealed(results: dict[str, Any]) -> None:
    failed = FailedFile("new", "PME_KMS_UNAVAILABLE", "[PME_KMS_UNAVAILABLE] new: the KMS is down. Try again.")
    counts = "the target is written, and has no seal"
    results["recover"] = error_of(failed, "sealed", counts, Lost((PAGE,)))
    done = run("recover", *OPERANDS["recover"], "--seal")
    assert (done.code, done.err) == (3, f"{failed.message} ({counts})\n")
    assert DAMAGED.message in done.out
    document = run("recover", *OPERANDS["recover"], "--seal", "--json").document
    assert (document["error"]["condition"], len(document["lost"])) == (failed.condition, 1)


@pytest.mark.parametrize(("found", "code"), [(LACKING.message, 3), ("the connector is there twice", 1)])
def test_a_problem_that_doctor_finds_has_an_exit_code(results: dict[str, Any], found: str, code: int) -> None:
    checks = (Check("Spark", "ok", "4.3.0"), Check("key 'pii' from driver", "problem", found, "Create the key."))
    results["doctor"] = pme.Diagnosis(checks)
    done = run("doctor")
    assert done.code == code
    assert "key 'pii' from driver" in done.out
    assert run("doctor", "--json").document == results["doctor"].to_dict()


def test_report_names_its_page(results: dict[str, Any]) -> None:
    results["report"] = Made(Path("page.html"), ("PME_DAMAGED_FILE",))
    assert run("report", "people").out == "page.html: 1 finding\n"
    assert run("report", "people", "--json").document == {"page": "page.html", "findings": 1}


def test_control_characters_in_names_do_not_reach_the_terminal(results: dict[str, Any]) -> None:
    name = "people/part-\x1b[31m.parquet"
    results["verify"] = Frame((replace(DAMAGED, file=name, message=f"[PME_DAMAGED_FILE] {name} is damaged."),), OPENED)
    results["key-usage"] = Frame((replace(PII, master_key="\x1b[31m", columns=("\x1b[31m",), unreadable_columns=()),))
    results["rotate"] = RotationReport([replace(FAILED, file=name, message=name)], dry_run=False)
    for command in ("verify", "rotate", "key-usage"):
        assert "\x1b" not in run(command, "people").out
