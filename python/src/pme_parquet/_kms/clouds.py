"""Master keys in the key services of clouds, or in a Hadoop KMS."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pme_parquet._display.brief import Brief
from pme_parquet._kms.protocol import options_of
from pme_parquet._kms.secrets import SecretReference, require_reference

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, repr=False)
class AwsKms(Brief):
    """Master keys in AWS KMS, which they never leave. Needs the jar `pme-parquet-kms-aws`.

    The AWS SDK finds credentials on the driver: environment, profile, web identity, instance role. The id of a master
    key is a key id, an ARN, or an alias (`alias/NAME`). `column_keys` takes ARNs unchanged.

    Example:
        keys = pme.AwsKms(region="eu-central-1")
        enc = pme.Encryption(kms=keys, footer_key="alias/footer", column_keys={"alias/pii": ["name"]})

    Attributes:
        region: the region of AWS KMS; by default the one that the SDK finds.
        endpoint: its address, if it is not the default of the region.
        encryption_context: strings that wrapped keys are bound to; AWS logs them, so they must not contain secrets.
    """

    region: str | None = None
    endpoint: str | None = None
    encryption_context: Mapping[str, str] | None = None

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        context = None if self.encryption_context is None else json.dumps(dict(self.encryption_context))
        return options_of(
            {
                "kms": "aws",
                "kms.aws.region": self.region,
                "kms.aws.endpoint": self.endpoint,
                "kms.aws.encryptionContext": context,
            }
        )


@dataclass(frozen=True, repr=False)
class GcpKms(Brief):
    """Master keys in Google Cloud KMS, which they never leave. Needs the jar `pme-parquet-kms-gcp`.

    Example:
        keys = pme.GcpKms("projects/acme/locations/europe-west3/keyRings/spark")
        enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["name"]})

    Attributes:
        key_ring: the key ring of keys that are not named in full.
        credentials: reference to the JSON of a service account's key; by default the application default credentials.
        endpoint: the address of Cloud KMS, if it is not Google's default.
    """

    key_ring: str | None = None
    credentials: SecretReference | None = None
    endpoint: str | None = None

    def __post_init__(self) -> None:
        if self.credentials is not None:
            require_reference(self.credentials, "pme.GcpKms(credentials)")

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        return options_of(
            {
                "kms": "gcp",
                "kms.gcp.keyRing": self.key_ring,
                "kms.gcp.credentials": self.credentials,
                "kms.gcp.endpoint": self.endpoint,
            }
        )


@dataclass(frozen=True, repr=False)
class AzureKeyVault(Brief):
    """Master keys in Azure Key Vault or a managed HSM, which they never leave. Needs the jar `pme-parquet-kms-azure`.

    It logs in with the managed identity of the machine, or with the client secret of an application.

    Example:
        keys = pme.AzureKeyVault("https://acme.vault.azure.net")
        enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["name"]})

    Attributes:
        vault_url: the address of the vault.
        tenant_id: with a client secret, the tenant.
        client_id: with a client secret, the application; without, a user-assigned managed identity.
        client_secret: reference to the client secret of the application.
        algorithm: the wrapping algorithm: RSA with vaults, AES with managed HSMs.
        authority: where to log in with a client secret, if not in Azure's public cloud.
    """

    vault_url: str
    tenant_id: str | None = None
    client_id: str | None = None
    client_secret: SecretReference | None = None
    algorithm: Literal["RSA-OAEP-256", "RSA-OAEP", "A128KW", "A192KW", "A256KW"] = "RSA-OAEP-256"
    authority: str | None = None

    def __post_init__(self) -> None:
        if self.client_secret is not None:
            require_reference(self.client_secret, "pme.AzureKeyVault(client_secret)")

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        return options_of(
            {
                "kms": "azure",
                "kms.azure.vaultUrl": self.vault_url,
                "kms.azure.tenantId": self.tenant_id,
                "kms.azure.clientId": self.client_id,
                "kms.azure.clientSecret": self.client_secret,
                "kms.azure.algorithm": self.algorithm,
                "kms.azure.authority": self.authority,
            }
        )


@dataclass(frozen=True, repr=False)
class HadoopKms(Brief):
    """Master keys in a Hadoop KMS, which they never leave. It authenticates users as Hadoop does.

    Example:
        keys = pme.HadoopKms("kms://https@kms.example:9600/kms")

    Attributes:
        uri: the address. The session must set it, too, unless it is a loopback address. The default is Hadoop's
            `hadoop.security.key.provider.path`.
    """

    uri: str | None = None

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        return options_of({"kms": "hadoop", "kms.hadoop.uri": self.uri})
