"""How options, keys and columns are written: on the command line, in files of options, and in the user's own file."""

from __future__ import annotations

import json
from inspect import isclass
from typing import TYPE_CHECKING

import pytest
import typer

import pme_parquet as pme
from pme_parquet._cli.checking import KMS
from pme_parquet._cli.options import (
    CONFIG_VARIABLE,
    SECRETS,
    Given,
    WriteKeys,
    column_keys,
    configured,
    in_file,
    kms_options,
    master_keys,
    merged,
    pairs,
)
from pme_parquet._cli.rotating import rotate
from tests.support import needs
from tests.support.markdown import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from pme_parquet._kms.services import Kms

ARN = "arn:aws:kms:eu-central-1:111122223333:key/a=b"


def test_a_column_key_lists_columns() -> None:
    assert column_keys(["pii=ssn, address.*", "pay=salary", "pii=name"]) == {
        "pii": ["ssn", "address.*", "name"],
        "pay": ["salary"],
    }


def test_keys_and_columns_with_odd_names_are_given_as_json() -> None:
    assert column_keys([json.dumps({ARN: ["a,b", "c"], "k": "d"})]) == {ARN: ["a,b", "c"], "k": ["d"]}
    assert column_keys(["arn:aws:kms:1:key/x=ssn"]) == {"arn:aws:kms:1:key/x": ["ssn"]}
    assert master_keys([json.dumps({ARN: "new"}), "old=new"]) == {ARN: "new", "old": "new"}


def test_no_master_key_is_not_an_empty_mapping() -> None:
    [derived] = [one for one in rotate.derived if one.name == "master_key"]
    assert (derived.value(None), derived.value([])) == (None, None)
    assert derived.value(["{}"]) == {}


def test_a_write_has_the_same_options_as_in_python() -> None:
    typed = Given(
        option=["kms.keystore.path=k.p12", "kms.keystore.password=env:P", "algorithm=AES_GCM_V1"], kms="keystore"
    )
    keys = pme.Keystore("k.p12", pme.env("P"))
    python = pme.Encryption(kms=keys, footer_key="f", column_keys={"pii": ["a", "b"]}, algorithm="AES_GCM_V1")
    made = WriteKeys(footer_key="f", column_key=["pii=a,b"]).encryption(typed.options()).options()
    assert made == {name: value for name, value in python.options().items() if name != "kms.keystore.type"}


def test_the_command_line_wins_over_the_options_file(tmp_path: Path) -> None:
    file = tmp_path / "kms.properties"
    file.write_text("# keys\nKMS = vault\nkms.vault.url=https://vault:8200\n\n")
    options = Given(kms="keystore", option=["kms.VAULT.url=https://other"], options_file=file).options()
    assert options == {"kms": "keystore", "kms.VAULT.url": "https://other"}


def test_a_file_of_options_may_be_json(tmp_path: Path) -> None:
    file = tmp_path / "kms.json"
    file.write_text(json.dumps({"kms": "vault", "plaintextFooter": True, "columnKeys": {ARN: ["a"]}, "kekBits": 256}))
    assert in_file(file) == {
        "kms": "vault",
        "plaintextFooter": "true",
        "columnKeys": json.dumps({ARN: ["a"]}),
        "kekBits": "256",
    }


@pytest.mark.parametrize("content", [b"\xff\xfe", b'{"kms": ', b"[1]", b"hunter2"])
def test_a_file_that_holds_no_options_is_wrong_use_and_not_repeated(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "kms"
    file.write_bytes(content)
    with pytest.raises(typer.BadParameter) as refused:
        in_file(file)
    assert "hunter2" not in str(refused.value)


def test_a_value_without_a_name_is_not_repeated() -> None:
    with pytest.raises(typer.BadParameter) as refused:
        pairs(["hunter2"], "--option")
    assert "hunter2" not in str(refused.value)


def test_names_are_compared_as_the_format_compares_them() -> None:
    assert merged({"footerKey": "a", "x": "1"}, {"FOOTERKEY": "b"}) == {"FOOTERKEY": "b", "x": "1"}


def test_kms_options_are_separated_from_other_options() -> None:
    options = {"KMS": "vault", "kms.vault.url": "u", "parquet.encryption.kms.instance.id": "i", "aadPrefix": "p"}
    assert set(kms_options(options)) == {"KMS", "kms.vault.url", "parquet.encryption.kms.instance.id"}


def test_every_option_that_holds_a_secret_is_known() -> None:
    rows = [
        line.split("|") for line in (ROOT / "docs" / "options.md").read_text().splitlines() if line.startswith("| `")
    ]
    assert {row[1].strip().strip("`").lower() for row in rows if row[2].strip() == "secret reference"} == SECRETS


def test_every_kms_class_with_a_short_name_is_known() -> None:
    secret = pme.env("PME_SECRET")
    examples: tuple[Kms, ...] = (
        pme.Keystore("keys.p12", secret),
        pme.Static(secret),
        pme.Vault("https://vault:8200", token=secret),
        pme.AwsKms(),
        pme.GcpKms(),
        pme.AzureKeyVault("https://acme.vault.azure.net"),
        pme.HadoopKms(),
    )
    assert {kms.options()["kms"] for kms in examples} == set(KMS)
    public = [getattr(pme, name) for name in pme.__all__]
    classes = {one for one in public if isclass(one) and one.__module__.startswith("pme_parquet._kms.")}
    # These two name a class instead.
    unnamed = {pme.KmsClass, pme.PythonKms}
    assert {one for one in classes if hasattr(one, "options")} - unnamed == set(map(type, examples))


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


@needs.posix
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
