"""The settings of Hadoop's file system for Google Cloud Storage, as options of gcsfs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pme_parquet._access.settings import missing, untranslated
from pme_parquet._display.words import printable
from pme_parquet._storage import shown

if TYPE_CHECKING:
    from pme_parquet._access.settings import Settings

_TYPE = "fs.gs.auth.type"
_FILE = "fs.gs.auth.service.account.json.keyfile"
_ROOT = "fs.gs.storage.root.url"
_TOKENS = {
    "APPLICATION_DEFAULT": ("google_default", "application default credentials"),
    "COMPUTE_ENGINE": ("cloud", "credentials of this machine"),
    "UNAUTHENTICATED": ("anon", "no credentials (anonymous)"),
}
_WHY = "gcsfs would not apply it"
_ONLY = {
    "fs.gs.encryption.algorithm": ((), _WHY),
    "fs.gs.encryption.key": ((), _WHY),
    "fs.gs.auth.impersonation.service.account": ((), _WHY),
    "fs.gs.delegation.token.binding": ((), _WHY),
    "fs.gs.proxy.address": ((), _WHY),
    "fs.gs.requester.pays.mode": (("DISABLED",), _WHY),
    "fs.gs.storage.service.path": (("storage/v1/", "storage/v1"), _WHY),
}


def translated(_below: str, _scheme: str, settings: Settings, where: str) -> tuple[dict[str, Any], list[str]]:
    """As `s3.translated`, for gcsfs."""
    settings.require_harmless(_ONLY, where, are_secret=True)
    options, words = _endpoint(settings)
    kind = settings.get(_TYPE)
    if kind == "SERVICE_ACCOUNT_JSON_KEYFILE":
        return options | {"token": _key_file(settings, where)}, [*words, f"credentials of {_FILE}"]
    if kind not in _TOKENS:
        why = "gcsfs has no such login" if kind else "it is not set, and versions of the connector differ without it"
        raise untranslated(where, _TYPE, kind, why)
    token, how = _TOKENS[kind]
    return options | {"token": token}, [*words, how]


def _key_file(settings: Settings, where: str) -> str:
    """The file of a service account. gcsfs would send a text that names no file to Google, as an access token."""
    name = settings.get(_FILE)
    if not name:
        raise missing(where, f"{_FILE} is not set", "Set it.")
    file = Path(name).absolute()
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        content = None
    if not isinstance(content, dict) or content.get("type") != "service_account":
        what = f"{_FILE}={printable(name)} is not a file with the key of a service account"
        raise missing(where, what, "Correct it.")
    return str(file)


def _endpoint(settings: Settings) -> tuple[dict[str, Any], list[str]]:
    root = settings.get(_ROOT).rstrip("/")
    # Named, because STORAGE_EMULATOR_HOST can name another one for gcsfs.
    options: dict[str, Any] = {"endpoint_url": root or "https://storage.googleapis.com"}
    if root.startswith("http://"):
        # gcsfs asks for the kind of a bucket by gRPC over TLS, and would ask for a minute before each file.
        options["retry_timeout"] = 0
    return options, [f"endpoint {printable(shown(root))}"] if root else []
