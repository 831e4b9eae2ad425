"""Where master keys live, besides a keystore.

That is a listed secret (`Static`), Vault's transit engine (`Vault`), or a KMS client by its class (`KmsClass`).
Clouds' key services and Hadoop's are in `_cloud_kms`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from pme_parquet._brief import Brief
from pme_parquet._hook import install_errors
from pme_parquet._secrets import SecretReference, require_reference

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike


class Kms(Protocol):
    """Something that says, as options, where master keys live."""

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        ...


@dataclass(frozen=True, repr=False)
class Static(Brief):
    """Keys listed in one secret, as lines `name=base64key`: for tests and first steps.

    Example:
        keys = pme.Static(pme.file("keys.txt"))
        spark.read.format("pme-parquet").options(**keys.options()).load(path)
    """

    keys: SecretReference

    def __post_init__(self) -> None:
        require_reference(self.keys, "pme.Static(keys)")

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        install_errors()
        return {"kms": "static", "kms.static.keys": str(self.keys)}


@dataclass(frozen=True, repr=False)
class Vault(Brief):
    """Master keys in the transit engine of HashiCorp Vault or OpenBao, which they never leave.

    Example:
        keys = pme.Vault("https://vault:8200", token=pme.env("VAULT_TOKEN"))
        spark.read.format("pme-parquet").options(**keys.options()).load(path)

    Attributes:
        url: where Vault listens.
        token: where the token is found, for `auth="token"`.
        mount: the path at which the transit engine is mounted.
        namespace: the namespace that holds the mount.
        auth: how Spark comes to a token: it is given one, or it logs in.
        role: the role to log in to: of Kubernetes, or the AppRole's role_id.
        secret_id: where the AppRole's secret_id is found.
        jwt: where the service account's token is found, for `auth="kubernetes"`; the default is the pod's own.
        auth_mount: the path at which the login method is mounted, where that is not the method's name.
        ca_cert: a PEM file with the certificates of the authorities to trust, instead of the JVM's.
    """

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

    def __post_init__(self) -> None:
        for field, value in (("token", self.token), ("secret_id", self.secret_id), ("jwt", self.jwt)):
            if value is not None:
                require_reference(value, f"pme.Vault({field})")

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        install_errors()
        given = {
            "kms": "vault",
            "kms.vault.url": self.url,
            "kms.vault.mount": self.mount,
            "kms.vault.namespace": self.namespace,
            "kms.vault.auth": self.auth,
            "kms.vault.token": _text(self.token),
            "kms.vault.role": self.role,
            "kms.vault.secretId": _text(self.secret_id),
            "kms.vault.jwt": _text(self.jwt),
            "kms.vault.authMount": self.auth_mount,
            "kms.vault.caCert": None if self.ca_cert is None else os.fspath(self.ca_cert),
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, repr=False)
class KmsClass(Brief):
    """A KMS client on the class path, parquet-java's `KmsClient` or Iceberg's `KeyManagementClient`.

    Example:
        kms = pme.KmsClass("com.example.MyKms", instance_url="https://kms.example", token=pme.env("KMS_TOKEN"))

    Attributes:
        name: the full name of the class.
        instance_id: parquet-java's KMS instance, handed to a `KmsClient`.
        instance_url: its address.
        token: where its access token is found.
        properties: texts that a `KeyManagementClient` is initialized with; the session must have the same in
            `spark.datasource.pme-parquet.kms.properties`. Spark prints them: put no secret here.
    """

    name: str
    instance_id: str | None = None
    instance_url: str | None = None
    token: SecretReference | None = None
    properties: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if self.token is not None:
            require_reference(self.token, "pme.KmsClass(token)")

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        install_errors()
        given = {
            "kms": self.name,
            "parquet.encryption.kms.instance.id": self.instance_id,
            "parquet.encryption.kms.instance.url": self.instance_url,
            "parquet.encryption.key.access.token": _text(self.token),
            "kms.properties": None if self.properties is None else json.dumps(dict(self.properties)),
        }
        return {name: value for name, value in given.items() if value is not None}


def _text(reference: SecretReference | None) -> str | None:
    return None if reference is None else str(reference)
