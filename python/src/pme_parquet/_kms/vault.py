"""The transit engine of HashiCorp Vault or OpenBao."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pme_parquet._display.brief import Brief
from pme_parquet._kms.protocol import options_of
from pme_parquet._kms.secrets import SecretReference, require_reference

if TYPE_CHECKING:
    from os import PathLike


@dataclass(frozen=True, repr=False)
class Vault(Brief):
    """Master keys in the transit engine of HashiCorp Vault or OpenBao, which they never leave.

    Example:
        keys = pme.Vault("https://vault:8200", token=pme.env("VAULT_TOKEN"))
        spark.read.format("pme-parquet").options(**keys.options()).load(path)

    Attributes:
        url: the address of Vault.
        token: reference to the token, for `auth="token"`.
        mount: the path at which the transit engine is mounted.
        namespace: the namespace that holds the mount.
        auth: how to authenticate: with a token, or with a login of a Kubernetes service account or an AppRole.
        role: the Kubernetes role, or the role_id of the AppRole.
        secret_id: reference to the secret_id of the AppRole.
        jwt: reference to the token of the service account, for `auth="kubernetes"`; the default is that of the pod.
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
