"""Every class gives exactly the options that were set, under the names of the format."""

import dataclasses
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

import pme_parquet as pme
from tests.support.session import ROOT

KEYS = pme.Keystore(Path("keys.p12"), password=pme.env("PASSWORD"))


def test_nothing_set_gives_no_option() -> None:
    assert pme.Encryption().options() == {}


def test_a_keystore_gives_its_place_its_type_and_where_the_password_is() -> None:
    assert KEYS.options() == {
        "kms": "keystore",
        "kms.keystore.path": "keys.p12",
        "kms.keystore.type": "PKCS12",
        "kms.keystore.password": "env:PASSWORD",
    }


def test_listed_keys_give_a_reference() -> None:
    assert pme.Static(pme.file("k.txt")).options() == {"kms": "static", "kms.static.keys": "file:k.txt"}


def test_a_kms_class_gives_parquet_javas_names_and_only_what_is_set() -> None:
    assert pme.KmsClass("com.example.Kms").options() == {"kms": "com.example.Kms"}
    assert pme.KmsClass("com.example.Kms", "id", "https://kms", pme.env("TOKEN")).options() == {
        "kms": "com.example.Kms",
        "parquet.encryption.kms.instance.id": "id",
        "parquet.encryption.kms.instance.url": "https://kms",
        "parquet.encryption.key.access.token": "env:TOKEN",
    }


@pytest.mark.parametrize(
    ("field", "value", "option"),
    [
        ("footer_key", "footer", {"footerKey": "footer", "keyManagement": "envelope"}),
        ("policy", Path("p.json"), {"policy": "p.json"}),
        ("uniform_key", "all", {"uniformKey": "all", "keyManagement": "envelope"}),
        ("unlisted_columns", "error", {"unlistedColumns": "error"}),
        ("algorithm", "AES_GCM_CTR_V1", {"algorithm": "AES_GCM_CTR_V1"}),
        ("plaintext_footer", True, {"plaintextFooter": "true"}),
        ("data_key_bits", 256, {"dataKeyBits": "256"}),
        ("kek_bits", 192, {"kekBits": "192"}),
        ("double_wrapping", False, {"doubleWrapping": "false"}),
        ("key_material", "external", {"keyMaterial": "external"}),
        ("key_management", "direct", {"keyManagement": "direct"}),
        ("aad_prefix", "{table}/{file}", {"aadPrefix": "{table}/{file}"}),
        ("store_aad_prefix", False, {"storeAadPrefix": "false"}),
        ("kms", "com.example.Kms", {"kms": "com.example.Kms"}),
        ("kms", KEYS, KEYS.options()),
    ],
)
def test_each_field_becomes_its_option(field: str, value: Any, option: dict[str, str]) -> None:
    fields: dict[str, Any] = {field: value}
    assert pme.Encryption(**fields).options() == option


def test_with_a_single_key_the_options_state_envelope() -> None:
    assert pme.Encryption(uniform_key="all").options()["keyManagement"] == "envelope"
    assert pme.Encryption(uniform_key="all", key_management="direct").options()["keyManagement"] == "direct"
    assert "keyManagement" not in pme.Encryption(footer_key="f", column_keys={"pii": "ssn"}).options()


def test_column_keys_become_json_that_keeps_odd_names() -> None:
    columns = {"arn:aws:kms:x": ["a; b", "ü.`x`"], "pay": "salary"}
    given = pme.Encryption(column_keys=columns).options()["columnKeys"]
    assert json.loads(given) == {"arn:aws:kms:x": ["a; b", "ü.`x`"], "pay": ["salary"]}


def test_column_keys_as_text_are_passed_on_unchanged() -> None:
    assert pme.Encryption(column_keys="pii: ssn, address.*").options() == {"columnKeys": "pii: ssn, address.*"}


def test_values_are_checked_by_the_connector_not_here() -> None:
    wrong: Any = 123
    assert pme.Encryption(data_key_bits=wrong).options() == {"dataKeyBits": "123"}


@pytest.mark.parametrize(
    ("fields", "typed"),
    [
        ({"column_keys": ["name"]}, r'which names no key\. .* \{"pii": \["name"\]\}'),
        ({"column_keys": {"pii": 3}}, r'columns of key "pii" are not text'),
        ({"column_keys": {1: ["name"]}}, "a key is not text"),
        ({"footer_key": ["footer"]}, r"footer_key.*Give the name of one key"),
    ],
)
def test_keys_of_another_form_are_refused_with_what_to_type(fields: dict[str, Any], typed: str) -> None:
    with pytest.raises(pme.BadOptionError, match=typed):
        pme.Encryption(**fields).options()


@pytest.mark.parametrize("of", [pme.Encryption, pme.Vault, pme.AwsKms, pme.GcpKms, pme.AzureKeyVault, pme.HadoopKms])
def test_help_says_what_each_option_costs_in_the_words_of_its_page(of: type[Any]) -> None:
    prefix = "" if of is pme.Encryption else f"kms.{re.findall('[A-Z][a-z]+', of.__name__)[0].lower()}."
    page = (ROOT / "docs" / "options.md").read_text()
    rows = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in page.splitlines() if line.startswith("| `")]
    meanings = {row[0].strip("`"): row[3] for row in rows if len(row) == 4}
    names = [field.name for field in dataclasses.fields(of) if field.name != "kms"]
    fields = {re.sub(r"_(\w)", lambda found: found[1].upper(), name): name for name in names}
    entries = re.split(r"\n {4}(?=\w+: )", inspect.getdoc(of) or "")
    helped = {entry.partition(":")[0]: " ".join(entry.split()) for entry in entries}
    effects = {option: meanings[prefix + option].partition("**Effect:** ")[2] for option in fields}
    told = {option: effect for option, effect in effects.items() if effect != "none."}
    for option, effect in told.items():
        assert "*Not stable yet.*" not in effect, option
        in_python = re.sub(r"`(\w+)`", lambda name: f"`{fields.get(name[1], name[1])}`", effect)
        assert in_python in helped[fields[option]], option
    assert len(told) > (10 if of is pme.Encryption else 0)
