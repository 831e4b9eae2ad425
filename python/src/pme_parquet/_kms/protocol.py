"""What the rest of the package needs from a KMS: options that say where master keys are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pme_parquet._spark.errors import install_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pme_parquet._kms.secrets import SecretReference


class Kms(Protocol):
    """A KMS: something with options that say where master keys are."""

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing."""
        ...


def options_of(values: Mapping[str, str | SecretReference | None]) -> dict[str, str]:
    """The options that have a value. A secret is passed as the reference to it."""
    install_errors()
    return {name: str(value) for name, value in values.items() if value is not None}
