"""A KMS client that is a class on the class path."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pme_parquet._display.brief import Brief
from pme_parquet._kms.protocol import options_of
from pme_parquet._kms.secrets import SecretReference, require_reference

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, repr=False)
class KmsClass(Brief):
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
        return options_of(
            {
                "kms": self.name,
                "parquet.encryption.kms.instance.id": self.instance_id,
                "parquet.encryption.kms.instance.url": self.instance_url,
                "parquet.encryption.key.access.token": self.token,
                "kms.properties": None if self.properties is None else json.dumps(dict(self.properties)),
            }
        )
