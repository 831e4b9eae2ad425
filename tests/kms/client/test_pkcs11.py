"""``kms=keystore`` with the type ``PKCS11``, on tokens of SoftHSM2: PINs, configurations, and keys that do not open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms import tokens as tokens_of
from tests.kms.access import FOOTER, PII
from tests.kms.client.opened import KEY
from tests.kms.tokens import PATH, PIN, by_pin
from tests.support import needs
from tests.support.expect import refused

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kms.client.opened import ClientJvm, Opened
    from tests.kms.tokens import Tokens

WRONG_PIN = "482914"

pytestmark = needs.softhsm


def opened(clients: ClientJvm, tokens: Tokens, configuration: Path, pin: str = PIN) -> Opened:
    return clients.open(by_pin(tokens, pin).options() | {"kms.keystore.path": str(configuration)})


@pytest.fixture
def client(clients: ClientJvm, tokens: Tokens) -> Opened:
    return opened(clients, tokens, tokens.full)


def test_a_key_that_the_token_does_not_have_is_not_found_until_it_is_made(
    clients: ClientJvm, tokens: Tokens, client: Opened
) -> None:
    with refused("PME_KEY_NOT_FOUND", "'other'", "full.cfg"):
        client.wrap("other")
    tokens_of.generate(tokens.full, "later")
    # Who comes later finds it.
    later = opened(clients, tokens, tokens.full)
    assert later.unwrap(later.wrap("later"), "later") == KEY


def test_a_wrong_pin_opens_no_token(clients: ClientJvm, tokens: Tokens) -> None:
    with refused("PME_KMS_UNAVAILABLE", "PIN", never=(WRONG_PIN,)):
        opened(clients, tokens, tokens.closed, WRONG_PIN).wrap(FOOTER)


def test_a_wrong_pin_is_refused_where_the_process_is_logged_in(
    clients: ClientJvm, tokens: Tokens, client: Opened
) -> None:
    wrapped = client.wrap(FOOTER)
    other = tokens.folder / "other.cfg"
    other.write_text(tokens.full.read_text().replace("name = full", "name = other"))
    # Another configuration of the token needs its PIN as well.
    for configuration in (tokens.full, other):
        with refused("PME_KMS_UNAVAILABLE", "PIN", never=(PIN, WRONG_PIN)):
            opened(clients, tokens, configuration, WRONG_PIN).unwrap(wrapped, FOOTER)
    assert client.unwrap(wrapped, FOOTER) == KEY


@pytest.mark.parametrize("configuration", ["library = /no/such/library.so\nname = absent\n", "something else", ""])
def test_a_configuration_that_leads_to_no_token_is_refused(
    clients: ClientJvm, tokens: Tokens, tmp_path: Path, configuration: str
) -> None:
    useless = tmp_path / "useless.cfg"
    useless.write_text(configuration)
    with refused("PME_KMS_UNAVAILABLE", "SunPKCS11"):
        opened(clients, tokens, useless).wrap(FOOTER)


def test_without_a_configuration_the_provider_must_be_installed(clients: ClientJvm) -> None:
    bare = pme.Keystore("", password=pme.env("PME_TEST_PASSWORD"), type="PKCS11")
    with refused("PME_UNSUPPORTED", "SunPKCS11", PATH):
        clients.open(bare.options()).wrap(FOOTER)


def test_an_altered_wrapped_key_does_not_open_and_one_passes_for_no_others(client: Opened) -> None:
    text = client.wrap(FOOTER)
    with refused("PME_NOT_AUTHENTIC", f"'{FOOTER}'"):
        client.unwrap(("B" if text[0] == "A" else "A") + text[1:], FOOTER)
    with refused("PME_NOT_AUTHENTIC", f"'{PII}'"):
        client.unwrap(text, PII)
