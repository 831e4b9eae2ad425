"""Where master keys live, besides a keystore: a listed secret (`Static`), or a parquet-java KMS client (`KmsClass`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pme_parquet._hook import install_errors
from pme_parquet._secrets import SecretReference, require_reference


class Kms(Protocol):
    """Something that says, as options, where master keys live."""

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        ...


@dataclass(frozen=True)
class Static:
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


@dataclass(frozen=True)
class KmsClass:
    """A KMS client on the class path: any `org.apache.parquet.crypto.keytools.KmsClient`.

    Example:
        kms = pme.KmsClass("com.example.MyKms", instance_url="https://kms.example", token=pme.env("KMS_TOKEN"))
    """

    name: str
    instance_id: str | None = None
    instance_url: str | None = None
    token: SecretReference | None = None

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
            "parquet.encryption.key.access.token": None if self.token is None else str(self.token),
        }
        return {name: value for name, value in given.items() if value is not None}
