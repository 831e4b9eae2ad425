"""Keys listed in one secret."""

from __future__ import annotations

from dataclasses import dataclass

from pme_parquet._display.brief import Brief
from pme_parquet._kms.protocol import options_of
from pme_parquet._kms.secrets import SecretReference, require_reference


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
