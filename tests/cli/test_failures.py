"""How the command fails: one message on stderr, one document with --json, and an exit code that is no finding."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, NoReturn

import pytest

from pme_parquet._cli import output
from tests.support.commands import run
from tests.support.files.handmade import encrypted, material
from tests.support.processes import environment

if TYPE_CHECKING:
    from pathlib import Path

WRONG = [
    (["verify"], "Missing argument 'PATH'."),
    (["verify", "people", "--nonsense"], "No such option: --nonsense"),
    (["verfy", "people"], "No such command 'verfy'."),
    (["verify", "people", "--sample-files", "many"], "--sample-files"),
    (["verify", "people", "-o", "nothing"], "NAME=VALUE"),
    (["decrypt", "people", "open"], "--write-plaintext"),
    (["encrypt", "people", "--footer-key", "a"], "either a target or --in-place"),
    (["encrypt", "people", "new", "--in-place", "--footer-key", "a"], "either a target or --in-place"),
]


@pytest.mark.parametrize(("arguments", "says"), WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_wrong_use_exits_with_2_and_is_a_document_with_json(arguments: list[str], says: str) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Usage:" in done.err
    with_json = run(*arguments, "--json")
    assert (with_json.code, with_json.err) == (2, done.err)
    assert with_json.document["error"]["condition"] == ""
    assert says in with_json.document["error"]["message"]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the code that inspects files."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise ZeroDivisionError("of its own\nmore of it")

    monkeypatch.setattr("pme_parquet._storage.storage", fail)


@pytest.mark.parametrize("arguments", [["inspect", "people", "--json"], ["inspect", "--json", "--", "people"]])
def test_an_unexpected_error_is_one_line_and_not_a_finding(broken: None, arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.code == 4
    assert done.err.startswith("pme-parquet: the command failed with an unexpected error, ZeroDivision")
    assert len(done.err.splitlines()) == 1
    assert done.document == {"error": {"condition": "", "message": done.err.rstrip("\n")}}


def test_verbose_shows_where_an_unexpected_error_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> NoReturn:
        raise ZeroDivisionError

    monkeypatch.setattr("pme_parquet._cli.options.Given.options", fail)
    assert "Traceback" not in run("verify", "people").err
    done = run("verify", "people", "--verbose")
    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("Traceback")


@pytest.mark.parametrize("given", ['{"a": 5}', '{"a": null}', '{"a": {"b": "c"}}', '{"a": ["b", 5]}'])
def test_columns_that_are_not_names_are_refused(given: str) -> None:
    done = run("plan", "people", "--column-key", given, "--json")
    assert done.code == 2
    assert done.document["error"]["condition"] == "PME_BAD_OPTION"
    assert "the columns of key 'a' are neither" in done.err


def test_a_master_key_that_is_not_a_name_is_refused() -> None:
    done = run("rotate", "people", "--master-key", '{"a": 5}')
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("[PME_BAD_OPTION] --master-key: the new key of 'a' is not a name")


def test_a_closed_pipe_causes_no_error(tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(encrypted(material("k")))
    process = subprocess.Popen(
        [sys.executable, "-c", "from pme_parquet.cli import main; input(); main()", "inspect", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    process.stdin.write(b"\n")
    process.stdin.close()
    with process.stderr as err:
        assert err.read() == b""
    assert process.wait() == 0


def test_an_error_is_in_colour_at_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    message = "[PME_NO_KEY] write: no key is named."
    output.write_error(message)
    assert capsys.readouterr().err == f"{message}\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    output.write_error(message)
    assert capsys.readouterr().err == "\033[1;31m[PME_NO_KEY]\033[0m write: no key is named.\n"
    monkeypatch.setenv("NO_COLOR", "1")
    output.write_error(message)
    assert capsys.readouterr().err == f"{message}\n"
