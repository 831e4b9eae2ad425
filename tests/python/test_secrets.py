"""Secrets are only passed by reference."""

import dataclasses

import pytest

import pme_parquet as pme
from pme_parquet._kms.secrets import parse_reference


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        (pme.env("PME_PASSWORD"), "env:PME_PASSWORD"),
        (pme.file("/run/secrets/pme"), "file:/run/secrets/pme"),
        (pme.conf("spark.pme.password"), "conf:spark.pme.password"),
        (pme.hadoop_credential("pme.password"), "hadoop-credential:pme.password"),
    ],
)
def test_a_reference_is_written_as_scheme_and_name_and_read_back(reference: pme.SecretReference, text: str) -> None:
    assert str(reference) == text
    assert parse_reference(text, "here") == reference


def test_a_reference_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        pme.env("A").name = "B"  # type: ignore[misc]  # what is tested


@pytest.mark.parametrize(
    "make",
    [
        lambda secret: pme.Keystore("keys.p12", password=secret),
        pme.Static,
        lambda secret: pme.KmsClass("com.example.Kms", token=secret),
    ],
    ids=["Keystore", "Static", "KmsClass"],
)
@pytest.mark.parametrize("secret", ["hunter2-hunter2", "env:LOOKS_LIKE_ONE"])
def test_a_secret_written_out_is_refused_and_not_repeated(make: object, secret: str) -> None:
    assert callable(make)
    with pytest.raises(pme.SecretInOptionError) as caught:
        make(secret)
    assert caught.value.condition == "PME_SECRET_IN_OPTION"
    assert secret not in str(caught.value)
    assert secret not in repr(caught.value)


@pytest.mark.parametrize("text", ["hunter2", "env:", "vault:thing", "pass:word", ""])
def test_text_that_is_no_reference_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(pme.SecretInOptionError) as caught:
        parse_reference(text, "--password")
    assert not text or text not in str(caught.value).replace("env:NAME", "")
