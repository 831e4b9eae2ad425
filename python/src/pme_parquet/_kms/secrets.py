"""Secret references: `env:NAME`, `file:PATH`, `conf:SPARK_CONF_KEY`, `hadoop-credential:ALIAS`.

An option never contains a secret, only a reference to it: Spark prints options in plans and logs.
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
    """A reference to a secret, which the driver reads. `str()` is the value of the option, e.g. `env:PME_PASSWORD`."""

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
    """The secret has this alias in a Hadoop credential provider."""
    return SecretReference("hadoop-credential", alias)


def parse_reference(text: str, where: str) -> SecretReference:
    """Parse `scheme:name`, as typed on a command line. Anything else may be a secret and is not repeated."""
    scheme, colon, name = text.partition(":")
    if not colon or not name or scheme not in SCHEMES:
        raise _written_out(where, "env:NAME, file:PATH, conf:SPARK_CONF_KEY or hadoop-credential:ALIAS")
    return SecretReference(scheme, name)


def require_reference(value: object, where: str) -> SecretReference:
    """Refuse anything that is not a reference, without repeating it."""
    if isinstance(value, SecretReference):
        return value
    raise _written_out(where, "pme.env(...), pme.file(...), pme.conf(...) or pme.hadoop_credential(...)")


def _written_out(where: str, references: str) -> SecretInOptionError:
    return SecretInOptionError(
        f"{where}: the value is not a reference to a secret. A secret itself would end up in plans and logs. Give "
        f"{references}."
    )
