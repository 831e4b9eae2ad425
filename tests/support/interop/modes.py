"""The ways to encrypt a table, chosen so that every pair of settings occurs together in at least one of them."""

from __future__ import annotations

import itertools
from typing import NamedTuple

FACTORY = {"parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"}
GCM, CTR = "AES_GCM_V1", "AES_GCM_CTR_V1"


class Mode(NamedTuple):
    """One way to encrypt a table."""

    uniform: bool
    plaintext_footer: bool
    algorithm: str
    bits: int
    external: bool
    double_wrapping: bool

    def __str__(self) -> str:
        return "-".join(
            (
                "uniform" if self.uniform else "columns",
                "plaintext_footer" if self.plaintext_footer else "encrypted_footer",
                self.algorithm.removeprefix("AES_").removesuffix("_V1").lower(),
                str(self.bits),
                "external" if self.external else "internal",
                "double" if self.double_wrapping else "single",
            )
        )


MODES = [
    Mode(uniform=True, plaintext_footer=False, algorithm=GCM, bits=128, external=False, double_wrapping=True),
    Mode(uniform=False, plaintext_footer=False, algorithm=CTR, bits=256, external=True, double_wrapping=False),
    Mode(uniform=False, plaintext_footer=True, algorithm=GCM, bits=192, external=True, double_wrapping=True),
    Mode(uniform=True, plaintext_footer=True, algorithm=CTR, bits=192, external=False, double_wrapping=False),
    Mode(uniform=False, plaintext_footer=True, algorithm=CTR, bits=128, external=False, double_wrapping=True),
    Mode(uniform=True, plaintext_footer=True, algorithm=GCM, bits=256, external=True, double_wrapping=False),
    Mode(uniform=False, plaintext_footer=False, algorithm=GCM, bits=256, external=False, double_wrapping=True),
    Mode(uniform=True, plaintext_footer=False, algorithm=CTR, bits=192, external=True, double_wrapping=True),
    Mode(uniform=False, plaintext_footer=False, algorithm=GCM, bits=128, external=True, double_wrapping=False),
    Mode(uniform=True, plaintext_footer=False, algorithm=GCM, bits=192, external=False, double_wrapping=False),
]

# Columns of each key, in the text form that our options and parquet-java's properties share, by path in the Parquet
# schema.
COLUMNS = {
    "pii": ["name", "address.street", "tags.list.element", "people.list.element.name"],
    "pay": ["salary", "scores.key_value.key", "scores.key_value.value"],
}


def columns_text() -> str:
    """Return the columns and their keys as ``columnKeys`` and ``parquet.encryption.column.keys`` spell them."""
    return "; ".join(f"{key}: {', '.join(columns)}" for key, columns in COLUMNS.items())


def uncovered_pairs() -> list[tuple[object, object]]:
    """Return the pairs of settings that no mode has together."""
    values = [sorted({mode[at] for mode in MODES}, key=str) for at in range(len(Mode._fields))]
    missing: list[tuple[object, object]] = []
    for left, right in itertools.combinations(range(len(values)), 2):
        for pair in itertools.product(values[left], values[right]):
            together = any((mode[left], mode[right]) == pair for mode in MODES)
            if not together:
                missing += [(f"{Mode._fields[left]}={pair[0]}", f"{Mode._fields[right]}={pair[1]}")]
    return missing


def our_options(mode: Mode, kms: str) -> dict[str, str]:
    """Return the mode in our options, for writing."""
    keys = {"uniformKey": "footer"} if mode.uniform else {"footerKey": "footer", "columnKeys": columns_text()}
    return keys | {
        "kms": kms,
        "plaintextFooter": str(mode.plaintext_footer).lower(),
        "algorithm": mode.algorithm,
        "dataKeyBits": str(mode.bits),
        "kekBits": str(mode.bits),
        "keyMaterial": "external" if mode.external else "internal",
        "doubleWrapping": str(mode.double_wrapping).lower(),
    }


def our_read_options(mode: Mode, kms: str) -> dict[str, str]:
    """Return our options for reading the mode."""
    return {"kms": kms, "algorithm": mode.algorithm}


def java_properties(mode: Mode, kms: str) -> dict[str, str]:
    """Return the mode in parquet-java's properties, for writing."""
    keys = {"uniform.key": "footer"} if mode.uniform else {"footer.key": "footer", "column.keys": columns_text()}
    complete = {} if mode.uniform else {"complete.columns": "true"}
    modes = (
        keys
        | complete
        | {
            "plaintext.footer": str(mode.plaintext_footer).lower(),
            "algorithm": mode.algorithm,
            "data.key.length.bits": str(mode.bits),
            "kek.length.bits": str(mode.bits),
            "key.material.store.internally": str(not mode.external).lower(),
            "double.wrapping": str(mode.double_wrapping).lower(),
        }
    )
    return java_read_properties(kms) | {f"parquet.encryption.{name}": value for name, value in modes.items()}


def java_read_properties(kms: str) -> dict[str, str]:
    """Return parquet-java's properties for reading the mode."""
    return {"parquet.encryption.kms.client.class": kms}
