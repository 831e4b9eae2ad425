"""Master keys in a KMS that the connector calls, one class for each: clouds, Vault, Hadoop, a class of the user."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from pme_parquet._display.brief import Brief
from pme_parquet._kms.secrets import SecretReference, require_reference
from pme_parquet._spark.errors import install_errors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike


class Kms(Protocol):
    """A KMS: something with options that say where master keys are."""

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        ...


def options_of(values: Mapping[str, str | SecretReference | None]) -> dict[str, str]:
    """The options that have a value. A secret is passed as the reference to it."""
    install_errors()
    return {name: str(value) for name, value in values.items() if value is not None}


class _Service(Brief):
    """A KMS that the connector calls; a field with a secret holds a reference to it."""

    _references: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in self._references:
            value = getattr(self, name)
            if value is not None:
                require_reference(value, f"pme.{type(self).__name__}({name})")


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
        endpoint: its address, if it is not the default of the region. Keys go to this address, in calls that
            credentials sign.
        encryption_context: strings that wrapped keys are bound to, which must not contain secrets. AWS's logs show it
            in clear.
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
class GcpKms(_Service):
    """Master keys in Google Cloud KMS, which they never leave. Needs the jar `pme-parquet-kms-gcp`.

    Example:
        keys = pme.GcpKms("projects/acme/locations/europe-west3/keyRings/spark")
        enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["name"]})

    Attributes:
        key_ring: the key ring of keys that are not named in full.
        credentials: reference to the JSON of a service account's key; by default the application default credentials.
            Settings and plans hold the reference, not the secret.
        endpoint: the address of Cloud KMS, if it is not Google's default. Keys, and the credentials of calls, go to
            this address.
    """

    _references = ("credentials",)
    key_ring: str | None = None
    credentials: SecretReference | None = None
    endpoint: str | None = None

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
class AzureKeyVault(_Service):
    """Master keys in Azure Key Vault or a managed HSM, which they never leave. Needs the jar `pme-parquet-kms-azure`.

    It logs in with the managed identity of the machine, or with the client secret of an application.

    Example:
        keys = pme.AzureKeyVault("https://acme.vault.azure.net")
        enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["name"]})

    Attributes:
        vault_url: the address of the vault. Keys, and the credentials of calls, go to this address.
        tenant_id: with a client secret, the tenant.
        client_id: with a client secret, the application; without, a user-assigned managed identity.
        client_secret: reference to the client secret of the application. Settings and plans hold the reference, not the
            secret.
        algorithm: the wrapping algorithm: RSA with vaults, AES with managed HSMs.
        authority: where to log in with a client secret, if not in Azure's public cloud. The client secret goes to this
            address.
    """

    _references = ("client_secret",)
    vault_url: str
    tenant_id: str | None = None
    client_id: str | None = None
    client_secret: SecretReference | None = None
    algorithm: Literal["RSA-OAEP-256", "RSA-OAEP", "A128KW", "A192KW", "A256KW"] = "RSA-OAEP-256"
    authority: str | None = None

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
            `hadoop.security.key.provider.path`. Keys, and the credentials of calls, go to this address.
    """

    uri: str | None = None

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        return options_of({"kms": "hadoop", "kms.hadoop.uri": self.uri})


@dataclass(frozen=True, repr=False)
class Vault(_Service):
    """Master keys in the transit engine of HashiCorp Vault or OpenBao, which they never leave.

    Example:
        keys = pme.Vault("https://vault:8200", token=pme.env("VAULT_TOKEN"))
        spark.read.format("pme-parquet").options(**keys.options()).load(path)

    Attributes:
        url: the address of Vault. Keys, and the credentials of calls, go to this address.
        token: reference to the token, for `auth="token"`. Settings and plans hold the reference, not the secret.
        mount: the path at which the transit engine is mounted.
        namespace: the namespace that holds the mount.
        auth: how to authenticate: with a token, or with a login of a Kubernetes service account or an AppRole.
        role: the Kubernetes role, or the role_id of the AppRole.
        secret_id: reference to the secret_id of the AppRole. Settings and plans hold the reference, not the secret.
        jwt: reference to the token of the service account, for `auth="kubernetes"`; the default is that of the pod.
            Settings and plans hold the reference, not the secret.
        auth_mount: the path at which the login method is mounted, where that is not the method's name.
        ca_cert: a PEM file with the certificates of the authorities to trust, instead of the JVM's. Whoever can change
            this file can pose as Vault.
    """

    _references = ("token", "secret_id", "jwt")
    url: str
    token: SecretReference | None = None
    mount: str = "transit"
    namespace: str | None = None
    auth: Literal["token", "kubernetes", "approle"] = "token"
    role: str | None = None
    secret_id: SecretReference | None = None
    jwt: SecretReference | None = None
    auth_mount: str | None = None
    ca_cert: str | PathLike[str] | None = None

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        return options_of(
            {
                "kms": "vault",
                "kms.vault.url": self.url,
                "kms.vault.mount": self.mount,
                "kms.vault.namespace": self.namespace,
                "kms.vault.auth": self.auth,
                "kms.vault.token": self.token,
                "kms.vault.role": self.role,
                "kms.vault.secretId": self.secret_id,
                "kms.vault.jwt": self.jwt,
                "kms.vault.authMount": self.auth_mount,
                "kms.vault.caCert": None if self.ca_cert is None else os.fspath(self.ca_cert),
            }
        )


@dataclass(frozen=True, repr=False)
class Static(Brief):
    """Master keys in a secret, as lines `name=base64key`: for tests and first steps only.

    Example:
        keys = pme.Static(pme.file("keys.txt"))
        spark.read.format("pme-parquet").options(**keys.options()).load(path)
    """

    keys: SecretReference

    def __post_init__(self) -> None:
        require_reference(self.keys, "pme.Static(keys)")

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        return options_of({"kms": "static", "kms.static.keys": self.keys})


@dataclass(frozen=True, repr=False)
class KmsClass(_Service):
    """A KMS client on the class path, parquet-java's `KmsClient` or Iceberg's `KeyManagementClient`.

    Example:
        kms = pme.KmsClass("com.example.MyKms", instance_url="https://kms.example", token=pme.env("KMS_TOKEN"))

    Attributes:
        name: the full name of the class.
        instance_id: parquet-java's KMS instance id, passed to a `KmsClient`.
        instance_url: its address.
        token: reference to its access token.
        properties: strings that initialize a `KeyManagementClient`; the session must set the same in
            `spark.datasource.pme-parquet.kms.properties`. Spark prints them, so they must not contain secrets.
    """

    _references = ("token",)
    name: str
    instance_id: str | None = None
    instance_url: str | None = None
    token: SecretReference | None = None
    properties: Mapping[str, str] | None = None

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        return options_of(
            {
                "kms": self.name,
                "parquet.encryption.kms.instance.id": self.instance_id,
                "parquet.encryption.kms.instance.url": self.instance_url,
                "parquet.encryption.key.access.token": self.token,
                "kms.properties": None if self.properties is None else json.dumps(dict(self.properties)),
            }
        )
