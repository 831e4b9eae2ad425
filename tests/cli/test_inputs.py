"""How options, keys and columns are written."""

from __future__ import annotations

import json
from inspect import isclass
from typing import TYPE_CHECKING

import pytest
import typer

import pme_parquet as pme
from pme_parquet._cli.checking import KMS
from pme_parquet._cli.options import (
    SECRETS,
    Given,
    WriteKeys,
    column_keys,
    in_file,
    kms_options,
    master_keys,
    merged,
    pairs,
)
from pme_parquet._cli.rotating import rotate
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
