"""How the tests reach a Vault, the fake or a real one: tokens are in files, because the JVM's environment is fixed."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pme_parquet as pme

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

FOOTER, PII, PAY = KEYS = ("footer", "pii", "pay")
COLUMNS = {PII: ["ssn"], PAY: ["salary"]}
# The permissions of a key in the minimal policies of docs/keys.md: to write and read, and to rotate.
OPERATIONS = ("encrypt", "decrypt")
ROTATING = (*OPERATIONS, "rewrap")
APPROLE, KUBERNETES = "auth/approle/login", "auth/kubernetes/login"
JWT = "header.claims-77b2.signature"


class AppRole(NamedTuple):
    """The credentials and the mount of an AppRole login."""

    role_id: str
    secret_id: str
    mount: str


class Transit(Protocol):
    """A Vault with a transit mount."""

    url: str
    mount: str
    namespace: str | None

    def create(self, *names: str) -> None: ...

    def rotate(self, name: str) -> None: ...

    def retire(self, name: str, *, before: int) -> None: ...

    def token(self, keys: Iterable[str], operations: Iterable[str] = OPERATIONS) -> str: ...

    def approle(self, keys: Iterable[str]) -> AppRole: ...


def secret(directory: Path, text: str) -> pme.SecretReference:
    """Return a reference to a new file that holds the text."""
    handle, path = tempfile.mkstemp(dir=directory, prefix="secret-")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    return pme.file(path)


def place(vault: Transit) -> dict[str, Any]:
    """Return the fields of ``pme.Vault`` that name its address."""
    return {"url": vault.url, "mount": vault.mount, "namespace": vault.namespace}


def by_token(
    vault: Transit, directory: Path, keys: Iterable[str] = KEYS, operations: Iterable[str] = OPERATIONS
) -> pme.Vault:
    """Return access with a new token that may use these keys."""
    return pme.Vault(**place(vault), token=secret(directory, vault.token(keys, operations)))


def by_approle(vault: Transit, directory: Path, role: AppRole) -> pme.Vault:
    """Return access through a login to the role."""
    mount = {} if role.mount == "approle" else {"auth_mount": role.mount}
    login: dict[str, Any] = {"auth": "approle", "role": role.role_id, **mount}
    return pme.Vault(**place(vault), **login, secret_id=secret(directory, role.secret_id))


def by_kubernetes(vault: Transit, directory: Path, jwt: str = JWT, **fields: Any) -> pme.Vault:
    """Return access by a login of a pod's service account to the role ``spark``."""
    return pme.Vault(**place(vault), auth="kubernetes", role="spark", jwt=secret(directory, jwt), **fields)


def encryption(kms: pme.Vault, **fields: Any) -> pme.Encryption:
    """Return the encryption of the tests: ``pii`` for ssn, ``pay`` for salary, ``footer`` for the rest."""
    return pme.Encryption(kms=kms, footer_key=FOOTER, column_keys=COLUMNS, **fields)


def read(spark: SparkSession, path: str, options: dict[str, str]) -> DataFrame:
    return spark.read.format("pme-parquet").options(**options).load(path)


def rows(frame: DataFrame) -> list[Any]:
    return sorted(tuple(row) for row in frame.collect())
