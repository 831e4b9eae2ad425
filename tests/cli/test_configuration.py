"""The user's configuration file, `--keystore`, and colours of errors."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
import typer

import pme_parquet as pme
from pme_parquet._cli import output
from pme_parquet._cli.options import CONFIG_VARIABLE, Given, configured
from tests.support.commands import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory, in which commands run."""
    for name in (CONFIG_VARIABLE, "XDG_CONFIG_HOME", "PME_KMS", "PME_OPTIONS_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(directory: Path, **options: str) -> Path:
    file = directory / "pme-parquet" / "config"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(options))
    file.chmod(0o600)
    return file


def test_the_users_configuration_file_applies_to_every_command_below_what_is_typed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config(home / ".config", kms="vault", footerKey="a")
    assert Given().options() == {"kms": "vault", "footerKey": "a"}
    assert Given(option=["FOOTERKEY=b"]).options() == {"kms": "vault", "FOOTERKEY": "b"}
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "other"))
    assert Given().options() == {}
    config(home / "other", kms="aws")
    assert Given().options() == {"kms": "aws"}
    monkeypatch.setenv(CONFIG_VARIABLE, "")
    assert Given().options() == {}


def test_a_file_in_the_current_directory_is_never_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = config(home, kms="com.example.Stolen")
    for name in ("config", "pme-parquet.json", ".pme-parquet", "kms.json"):
        (home / name).write_text(file.read_text())
    assert configured() == {}
    # The XDG specification says to ignore a path that is not absolute.
    for directory in (".", "", "pme-parquet/.."):
        monkeypatch.setenv("XDG_CONFIG_HOME", directory)
        assert configured() == {}
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", ".")
    assert configured() == {}
    monkeypatch.setenv(CONFIG_VARIABLE, "pme-parquet/config")
    with pytest.raises(pme.BadOptionError, match="its path is not absolute"):
        configured()


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_a_configuration_file_that_others_can_change_is_refused(home: Path) -> None:
    config(home / ".config", kms="vault").chmod(0o666)
    with pytest.raises(pme.BadOptionError, match="other users can change it"):
        configured()


def test_a_configuration_file_that_does_not_exist_or_holds_a_secret_is_an_error(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONFIG_VARIABLE, str(home / "none"))
    with pytest.raises(pme.BadOptionError, match="No such file"):
        configured()
    file = config(home / ".config")
    file.write_text('{"kms.keystore.password": "hunter2"}')
    monkeypatch.delenv(CONFIG_VARIABLE)
    with pytest.raises(pme.SecretInOptionError, match=r"pme-parquet/config") as caught:
        configured()
    assert "hunter2" not in str(caught.value)


def test_a_keystore_stands_for_its_three_options(home: Path) -> None:
    made = {
        "kms": "keystore",
        "kms.keystore.path": "keys.p12",
        "kms.keystore.password": "env:PME_KEYSTORE_PASSWORD",
    }
    assert Given(keystore="keys.p12").options() == made
    password = {"kms.keystore.password": "file:/p"}
    assert Given(keystore="keys.p12", option=["kms.keystore.password=file:/p"]).options() == made | password
    config(home / ".config", **{"kms": "vault", "kms.keystore.password": "file:/p"})
    assert Given(keystore="keys.p12").options() == made | password


@pytest.mark.parametrize("given", [Given("a", "vault"), Given("a", option=["kms.keystore.PATH=b"])])
def test_a_keystore_and_another_kms_are_wrong_use(home: Path, given: Given) -> None:
    assert home.is_dir()
    with pytest.raises(typer.BadParameter, match="another KMS or keystore is named as well"):
        given.options()


def test_a_directory_in_place_of_a_keystore_is_named_before_spark_starts(home: Path) -> None:
    done = run("verify", home, "--keystore", home)
    assert done.code == 3
    assert "it is a directory. Name a file in it: " in done.err


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
