"""Secrets on the command line are refused before anything starts, and are not repeated."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import run

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "swordfish-41"


@pytest.mark.parametrize(
    "arguments",
    [
        ["-o", f"kms.keystore.password={SECRET}"],
        ["-o", f"KMS.Vault.Token={SECRET}"],
        ["--conf", f"spark.datasource.pme-parquet.kms.keystore.password={SECRET}"],
        ["--conf", f"spark.hadoop.pme-parquet.kms.vault.token={SECRET}"],
        ["--conf", f"spark.hadoop.parquet.encryption.key.access.token={SECRET}"],
    ],
)
def test_a_secret_written_out_is_refused(arguments: list[str]) -> None:
    done = run("verify", "people", *arguments, "--json")
    assert done.code == 2
    assert done.err.startswith("[PME_SECRET_IN_OPTION]")
    assert done.document["error"]["condition"] == "PME_SECRET_IN_OPTION"
    assert SECRET not in done.out + done.err


def test_a_secret_in_a_file_of_options_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "kms.json"
    file.write_text(json.dumps({"kms": "vault", "kms.vault.token": SECRET}))
    done = run("verify", "people", "--options-file", file)
    assert (done.code, done.err[:22]) == (2, "[PME_SECRET_IN_OPTION]")
    assert SECRET not in done.out + done.err


def test_a_public_key_written_out_is_refused() -> None:
    for given in (["--verify-key", SECRET], ["-o", f"verifyKey={SECRET}"]):
        done = run("seal", "people", *given)
        assert (done.code, done.err[:22]) == (2, "[PME_SECRET_IN_OPTION]")
        assert SECRET not in done.out + done.err


def test_a_secret_of_the_new_kms_is_refused() -> None:
    done = run("rotate", "people", "--new-option", f"kms.keystore.password={SECRET}")
    assert (done.code, done.err[:22]) == (2, "[PME_SECRET_IN_OPTION]")
    assert SECRET not in done.out + done.err
