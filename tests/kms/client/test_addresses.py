"""Addresses of clouds that would send credentials readable, or that are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.expect import refused

if TYPE_CHECKING:
    from tests.kms.client.opened import ClientJvm


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"kms": "aws", "kms.aws.endpoint": "http://kms.eu-central-1.amazonaws.com"}, "kms.aws.endpoint"),
        ({"kms": "gcp", "kms.gcp.endpoint": "https://user:s3cr3t@cloudkms.googleapis.com"}, "kms.gcp.endpoint"),
        ({"kms": "azure", "kms.azure.vaultUrl": "not an address"}, "kms.azure.vaultUrl"),
        ({"kms": "azure", "kms.azure.vaultUrl": "https://acme.vault.azure.net/a/../b"}, "kms.azure.vaultUrl"),
    ],
)
def test_an_address_that_would_send_credentials_in_plaintext_is_refused(
    clients: ClientJvm, options: dict[str, str], option: str
) -> None:
    with refused("PME_BAD_OPTION", option, never=("s3cr3t",)):
        clients.open(options)
