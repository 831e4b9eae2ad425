"""Secret references: `env:NAME`, `file:PATH`, `conf:SPARK_CONF_KEY`, `hadoop-credential:ALIAS`.

An option never holds a secret, only the place where the driver finds it: Spark prints options in plans and logs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pme_parquet.errors import SecretInOptionError

if TYPE_CHECKING:
    from os import PathLike

SCHEMES = ("env", "file", "conf", "hadoop-credential")


@dataclass(frozen=True)
class SecretReference:
    """Where the driver finds a secret. `str()` gives what an option holds, e.g. `env:PME_PASSWORD`."""

    scheme: str
    name: str

    def __str__(self) -> str:
        return f"{self.scheme}:{self.name}"

    def __repr__(self) -> str:
        return f"pme.{self.scheme.replace('-', '_')}({self.name!r})"


def env(name: str) -> SecretReference:
    """The secret is the value of an environment variable of the driver."""
    return SecretReference("env", name)


def file(path: str | PathLike[str]) -> SecretReference:
    """The secret is the content of a file that the driver can read."""
    return SecretReference("file", str(path))


def conf(key: str) -> SecretReference:
    """The secret is the value of a Spark configuration key (which Spark shows, unless its redaction covers it)."""
    return SecretReference("conf", key)


def hadoop_credential(alias: str) -> SecretReference:
    """The secret is kept under an alias by a Hadoop credential provider."""
    return SecretReference("hadoop-credential", alias)


def parse_reference(text: str, where: str) -> SecretReference:
    """Reads `scheme:name`, as typed on a command line; anything else may be a secret and is not repeated."""
    scheme, colon, name = text.partition(":")
    if not colon or not name or scheme not in SCHEMES:
        raise _written_out(where, "env:NAME, file:PATH, conf:SPARK_CONF_KEY or hadoop-credential:ALIAS")
    return SecretReference(scheme, name)


def require_reference(value: object, where: str) -> SecretReference:
    """Refuses whatever is not a reference, without repeating it."""
    if isinstance(value, SecretReference):
        return value
    raise _written_out(where, "pme.env(...), pme.file(...), pme.conf(...) or pme.hadoop_credential(...)")


def _written_out(where: str, references: str) -> SecretInOptionError:
    return SecretInOptionError(
        f"{where}: the value is not a secret reference, because a secret written out as an option ends up in plans "
        f"and logs. Give {references}."
    )
