"""Access to the fakes of clouds' key services, and what is written under their keys, whichever cloud it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from tests.kms.access import COLUMNS, FOOTER, KEYS
from tests.kms.azure_server import AzureServer
from tests.kms.gcp_server import GcpServer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kms.cloud_server import CloudServer

SERVERS: dict[str, Any] = {"gcp": GcpServer, "azure": AzureServer}


def encryption(kms: Any, **fields: Any) -> pme.Encryption:
    return pme.Encryption(kms=kms, footer_key=FOOTER, column_keys=COLUMNS, **fields)


def reading(cloud: CloudServer, directory: Path, keys: tuple[str, ...] = KEYS) -> dict[str, str]:
    """Return the options of a new user."""
    return cloud.access(directory, keys).options()
