"""Amazon's JCE provider (ACCP) for `pme-parquet`, which adds its jar to a session: see `pme_parquet.configure`."""

from __future__ import annotations

import platform
from pathlib import Path

__all__ = ["jar_path"]

JARS = Path(__file__).parent / "jars"
_CLASSIFIERS = {("Linux", "x86_64"): "linux-x86_64", ("Linux", "aarch64"): "linux-aarch_64"}


def jar_path() -> str | None:
    """The path of the provider's jar for this machine; None where Amazon has none for it."""
    classifier = _CLASSIFIERS.get((platform.system(), platform.machine()))
    found = sorted(JARS.glob(f"AmazonCorrettoCryptoProvider-*-{classifier}.jar"))
    return str(found[-1]) if found else None
