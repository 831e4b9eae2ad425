"""`pme-parquet snapshots`, and `seal` without the connector."""

from __future__ import annotations

import json
from io import StringIO
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support.commands import Stub, run, stubbed
from tests.support.files.handmade import PART, chain, content, manifest, put

if TYPE_CHECKING:
    from pathlib import Path

SEALED = pme.Sealed(
    2, "ab" * 32, "/people/_pme_snapshots", 12, 1000, 123456, 1, 0, 2, 1, "Ed25519", "sign\x1b[2Jer", "t"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    chain(tmp_path / "people" / "_pme_snapshots", 2)
    return tmp_path / "people"


def test_versions_are_printed_and_it_exits_with_0(table: Path) -> None:
    done = run("snapshots", table)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{pme.snapshots(table)}\n".replace("pme.verify", "pme-parquet verify")


def test_json_is_the_dict(table: Path) -> None:
    done = run("snapshots", table, "--json")
    assert done.code == 0
    assert done.document == json.loads(json.dumps(pme.snapshots(table).to_dict()))


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_problem_exits_with_1(table: Path, more: list[str]) -> None:
    (table / "_pme_snapshots" / PART).unlink()
    done = run("snapshots", table, *more)
    assert (done.code, done.err) == (1, "")
    assert "[PME_SNAPSHOT_DAMAGED] snapshot-0000000001.json: its list of files is incomplete" in done.out


def test_a_table_that_is_not_sealed_exits_with_0(tmp_path: Path) -> None:
    done = run("snapshots", tmp_path)
    assert (done.code, done.out) == (0, f"{tmp_path}: no snapshots\n")


def test_wrong_use_exits_with_2(table: Path) -> None:
    for arguments in (["nowhere"], [], [str(table), "--location", "nowhere"], [str(table), "--no-such-option"]):
        done = run("snapshots", *arguments)
        assert (done.code, done.out) == (2, ""), arguments


def test_the_directory_of_snapshots_may_be_elsewhere(table: Path, tmp_path: Path) -> None:
    put(tmp_path / "lists", 1, manifest(content()))
    done = run("snapshots", table, "--location", tmp_path / "lists", "--json")
    assert (done.code, [one["version"] for one in done.document["versions"]]) == (0, [1])


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Stand in for Spark and the connector, in a directory with a table `people`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people").mkdir(exist_ok=True)
    (tmp_path / "signer.pem").write_text("")
    made = stubbed(monkeypatch)
    made.results["seal"] = SEALED
    return made


def test_seal_passes_its_options_on(stub: Stub) -> None:
    done = run(
        *("seal", "people", "--kms", "vault", "-o", "aadPrefix=p", "--signing-key", "signer", "-q"),
        *(
            "--verify-key",
            "file:signer.pem",
            "--location",
            "lists",
            "--min-max",
            "id",
            "--min-max",
            "day",
            "--expect",
            "3",
        ),
        *("--bloom", "ssn", "--bloom-fpp", "0.001", "--value-list", "city", "--value-list", "`a,b`"),
        *("--value-list-max", "9", "--index-key", "stats=city, day", "--index-key", '{"pii": ["ssn", "`a,b`"]}'),
    )
    assert (done.code, done.err) == (0, "")
    assert stub.arguments == {
        "path": "people",
        "options": {"kms": "vault", "aadPrefix": "p"},
        "signing": "signer",
        "verify_key": pme.file("signer.pem"),
        "index": [pme.MinMax("id", "day"), pme.ValueList("city", "`a,b`", max=9), pme.Bloom("ssn", fpp=0.001)],
        "index_keys": {"stats": ["city", "day"], "pii": ["ssn", "`a,b`"]},
        "location": "lists",
        "expect": "3",
        "progress": False,
    }


def test_seal_prints_what_was_sealed(stub: Stub) -> None:
    done = run("seal", "people")
    counts = "12 files (1 added, 0 removed, 2 replaced), 1,000 rows, 120.6 KiB"
    assert done.out.splitlines()[0].startswith(f"people: version 2: {counts}; sealed")
    assert "\x1b" not in done.out
    unset = ("index", "index_keys", "signing", "verify_key", "location", "expect")
    assert [stub.arguments[name] for name in unset] == [None] * 6
    document = run("seal", "people", "--json").document
    assert (document["path"], document["version"], document["digest"]) == ("people", 2, "ab" * 32)


def test_indexes_have_the_settings_of_python_by_default(stub: Stub) -> None:
    assert run("seal", "people", "--bloom", "id", "--value-list", "city").code == 0
    assert stub.arguments["index"] == [pme.ValueList("city"), pme.Bloom("id")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bloom-fpp", "0.1"], "[PME_BAD_OPTION] --bloom-fpp: there is no --bloom. Add --bloom COL, or remove this"),
        (
            ["--value-list-max", "1"],
            "[PME_BAD_OPTION] --value-list-max: there is no --value-list. Add",
        ),
        (
            ["--bloom", "id", "--bloom-fpp", "0.6"],
            "[PME_BAD_OPTION] --bloom-fpp cannot be 0.6. Give a number above 0 and at most 0.5.\n",
        ),
        (
            ["--value-list", "id", "--value-list-max", "0"],
            "[PME_BAD_OPTION] --value-list-max cannot be 0. Give a whole number from 1 to 1000.\n",
        ),
        (
            ["--index-key", '{"stats": 1}'],
            "[PME_BAD_OPTION] --index-key: the columns of key 'stats' are neither a name nor a list of names. Write it",
        ),
    ],
)
def test_unusable_indexes_exit_with_2_and_nothing_is_sealed(stub: Stub, arguments: list[str], message: str) -> None:
    done = run("seal", "people", *arguments)
    assert (done.code, done.out, stub.asked) == (2, "", [])
    assert done.err.startswith(message)


class Terminal(StringIO):
    """A stream at which somebody sits."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "expect"), [("y\n", "2:ab"), (" YES\n", "2:ab"), ("n\n", None), ("\n", None)])
def test_at_a_terminal_seal_shows_the_changes_and_asks(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, typed: str, expect: str | None
) -> None:
    asked: list[dict[str, Any]] = []

    def changes(spark: object, path: str, **more: Any) -> list[str]:
        assert spark is stub
        asked.append(more | {"path": path})
        return ["2:ab", "added: part-\x1b[2J.parquet", "removed: part-1.parquet"]

    terminal = Terminal()
    monkeypatch.setattr("pme_parquet._operations.sealing.changes_to_seal", changes)
    monkeypatch.setattr("pme_parquet._cli.sealing.sys", SimpleNamespace(stdin=Terminal(typed), stderr=terminal))
    assert run("seal", "people", "--signing-key", "signer").code == 0
    assert asked == [{"path": "people", "options": {}, "signing": "signer", "verify_key": None, "location": None}]
    assert terminal.getvalue().splitlines() == [
        "people: a seal vouches for all files. Since the version before, if there is one:",
        r"added: part-\x1b[2J.parquet",
        "removed: part-1.parquet",
        "Seal 2 changes? [y/N] ",
    ]
    assert stub.arguments["expect"] == expect
    assert run("seal", "people", "--expect", "3").code == 0
    assert len(asked) == 1
