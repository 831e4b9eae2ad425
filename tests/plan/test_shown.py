"""What people and programs see of a plan: text, a notebook's HTML, rich's tables, JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.expect import assert_no_secret
from tests.support.frames import people
from tests.support.shown import forms

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

HOSTILE = "k\x1b[2J\u202e<script>[red]"


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give tables all the width that they want."""
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.newest
def test_as_text(spark: SparkSession, conf: Conf, enc: pme.Encryption) -> None:
    tried = replace(
        enc,
        column_keys={"pii": ["ssn", "address"], "pay": ["salry"]},
        unlisted_columns="plaintext",
        aad_prefix="{table}",
    )
    with conf({"parquet.bloom.filter.enabled#ssn": "true"}):
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
        "  ssn             string         pii  column key, by 'ssn'; with a Bloom filter",
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
    assert [(column.path, column.by) for column in plan.plaintext] == [
        *((path, "plaintext") for path in ("id", "name", "salary")),
        ("country", "partition column"),
    ]


@pytest.mark.oldest
def test_names_cannot_control_a_terminal_and_the_dict_is_json_without_a_secret(
    spark: SparkSession, tmp_path: Path
) -> None:
    secret = "q83vEjRWeJCrze8SNFZ4kA=="
    listed = tmp_path / "keys.txt"
    listed.write_text(f"k={secret}\n")
    plan = pme.plan(
        spark.range(1).toDF(HOSTILE),
        pme.Encryption(
            kms=pme.Static(pme.file(str(listed))),
            footer_key=HOSTILE,
            key_management="direct",
            aad_prefix=HOSTILE,
            store_aad_prefix=False,
            column_keys=json.dumps({HOSTILE: ["*", f"`{HOSTILE}x`"]}),
        ),
    )
    shown = forms(plan)
    for form, text in shown.items():
        for piece in ("\x1b[2J", "\u202e", *(["<script>"] if form == "html" else [])):
            assert piece not in text, form
    assert r"k\x1b[2J\u202e<script>[red]" in forms(plan, width=200)["rich"]
    assert plan.columns[0].path == HOSTILE
    assert "the named keys themselves" in shown["text"]
    files = plan.to_dict()["files"]
    assert (files["key_management"], files["store_aad_prefix"]) == ("direct", False)
    assert (files["data_key_bits"], files["kek_bits"], files["key_material"]) == (None, None, None)
    document = json.dumps(plan.to_dict())
    assert sorted(json.loads(document)) == ["columns", "exposed", "files", "policies", "refusals", "unmatched"]
    column = {"path": HOSTILE, "name": f"`{HOSTILE}`", "type": "bigint", "key": HOSTILE, "by": "column key"}
    assert plan.to_dict()["columns"] == (column | {"pattern": "*", "bloom_filter": False, "tag": None},)
    for text in (document, *shown.values()):
        assert_no_secret(text, (secret,))
