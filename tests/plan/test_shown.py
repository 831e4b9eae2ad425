"""What people and programs see of a plan: text, a notebook's HTML, rich's tables, JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.expect import assert_no_secret
from tests.support.frames import people
from tests.support.judging import forms
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

HOSTILE = "k\x1b[2J\u202e<script>[red]"


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give tables all the width that they want."""
    monkeypatch.setenv("COLUMNS", "200")


def test_as_text(spark: SparkSession, enc: pme.Encryption) -> None:
    tried = replace(
        enc,
        column_keys={"pii": ["ssn", "address"], "pay": ["salry"]},
        unlisted_columns="plaintext",
        aad_prefix="{table}",
    )
    plan = pme.plan(people(spark).drop("tags", "scores"), tried, partition_by="country")
    refusal = "[PME_UNKNOWN_COLUMN] option columnKeys: 'salry' matches no column, so it would protect nothing. "
    refusal += "The columns are: id, name, ssn, salary, address.street, address.zip."
    readable = "readable by anyone with access to the files"
    assert str(plan).splitlines() == [
        "Plan of a write: 6 leaf columns, 3 encrypted, 1 partition column",
        "",
        "  footer            encrypted, key 'footer'",
        "  algorithm         AES_GCM_V1",
        "  data keys         128 bits, in the file",
        "  wrapped by        a key-encryption key (128 bits), wrapped by the master key",
        "  AAD prefix        {table} (in the file)",
        "  unlisted columns  plaintext",
        "  KMS               keystore",
        "",
        "  column          type           key  reason",
        "  id              bigint              plaintext: no key names it",
        "  name            string              plaintext: no key names it",
        "  ssn             string         pii  column key, by 'ssn'",
        "  salary          decimal(10,2)       plaintext: no key names it",
        "  address.street  string         pii  column key, by 'address'",
        "  address.zip     int            pii  column key, by 'address'",
        "  country         string              partition column: its values are readable in directory names",
        "",
        f"{readable}: values of partition columns, in directory names: country",
        f"{readable}: values of columns without a key: 3 of 6",
        f"{readable}: the id of the footer's master key",
        f"{readable}: the AAD prefix",
        f"{readable}: names and sizes of files",
        "'salry' of key 'pay' matches no column; nearest: salary, name, ssn",
        f"The write would fail: {refusal}",
        "Nothing was written, and the KMS was not called.",
    ]


def test_a_readable_footer_is_mentioned(spark: SparkSession, enc: pme.Encryption) -> None:
    tried = replace(enc, plaintext_footer=True, column_keys={"pii": ["ssn"]}, unlisted_columns="plaintext")
    [_, footer, _] = pme.plan(people(spark), tried).exposed
    for what in ("names and types of all columns", "row counts", "minima and maxima of columns without a key"):
        assert what in footer
    assert "minima" not in str(pme.plan(people(spark), replace(tried, unlisted_columns="footerKey")))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"footer": "encrypted", "data_key_bits": 128, "kek_bits": 128, "key_material": "internal"}),
        ({"data_key_bits": 256, "kek_bits": 192}, {"data_key_bits": 256, "kek_bits": 192}),
        ({"double_wrapping": False, "key_material": "external"}, {"kek_bits": None, "key_material": "external"}),
        ({"key_management": "direct"}, {"key_management": "direct", "data_key_bits": None, "kek_bits": None}),
        ({"key_management": "direct"}, {"key_material": None, "kms": "keystore", "footer_key": "footer"}),
        ({"kms": pme.KmsClass(TEST_KMS)}, {"kms": TEST_KMS}),
        ({"kms": pme.AwsKms("eu-west-1")}, {"kms": "aws"}),
        ({"aad_prefix": "t", "store_aad_prefix": False}, {"aad_prefix": "t", "store_aad_prefix": False}),
    ],
    ids=str,
)
def test_effective_values_are_listed(
    spark: SparkSession, enc: pme.Encryption, settings: dict[str, object], expected: dict[str, object]
) -> None:
    files = pme.plan(people(spark), replace(enc, **settings)).to_dict()["files"]  # type: ignore[arg-type]
    assert {name: files[name] for name in expected} == expected


def test_names_cannot_control_a_terminal_or_a_notebook(spark: SparkSession, enc: pme.Encryption) -> None:
    frame = spark.range(1).toDF(HOSTILE)
    named = replace(
        enc, footer_key=HOSTILE, aad_prefix=HOSTILE, column_keys=json.dumps({HOSTILE: ["*", f"`{HOSTILE}x`"]})
    )
    plan = pme.plan(frame, named)
    for form, shown in forms(plan).items():
        for piece in ("\x1b[2J", "\u202e", *(["<script>"] if form == "html" else [])):
            assert piece not in shown, form
    assert r"k\x1b[2J\u202e<script>[red]" in forms(plan, width=200)["rich"]
    assert plan.columns[0].path == HOSTILE


def test_the_dict_is_json_and_holds_no_secret(spark: SparkSession, tmp_path: Path) -> None:
    secret = "q83vEjRWeJCrze8SNFZ4kA=="
    listed = tmp_path / "keys.txt"
    listed.write_text(f"k={secret}\n")
    plan = pme.plan(people(spark), pme.Encryption(kms=pme.Static(pme.file(str(listed))), footer_key="k"))
    document = json.dumps(plan.to_dict())
    assert sorted(json.loads(document)) == ["columns", "exposed", "files", "refusals", "unmatched"]
    assert plan.to_dict()["columns"][0] == {
        "path": "id",
        "name": "id",
        "type": "bigint",
        "key": "k",
        "by": "footer key",
        "pattern": None,
    }
    for shown in (document, *forms(plan).values()):
        assert_no_secret(shown, (secret,))
