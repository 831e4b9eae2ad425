"""The settings of Hadoop's file system for Google Cloud Storage, as options of gcsfs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._access import problems
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
    "fs.gs.proxy.address": ((), _WHY),
    "fs.gs.requester.pays.mode": (("DISABLED",), _WHY),
}


def translated(_below: str, _scheme: str, settings: Settings, where: str) -> tuple[dict[str, Any], list[str]]:
    """As `s3.translated`, for gcsfs."""
    settings.require_harmless(_ONLY, where, are_secret=True)
    options, words = _endpoint(settings)
    kind = settings.get(_TYPE)
    if kind == "SERVICE_ACCOUNT_JSON_KEYFILE":
        file = settings.get(_FILE)
        if not file:
            raise problems.missing(where, f"{_FILE} is not set", "Set it.")
        return options | {"token": file}, [*words, f"credentials of {_FILE}"]
    if kind not in _TOKENS:
        why = "gcsfs has no such login" if kind else "it is not set, and versions of the connector differ without it"
        raise problems.untranslated(where, _TYPE, kind, why)
    token, how = _TOKENS[kind]
    return options | {"token": token}, [*words, how]


def _endpoint(settings: Settings) -> tuple[dict[str, Any], list[str]]:
    root = settings.get(_ROOT).rstrip("/")
    # Named, because STORAGE_EMULATOR_HOST can name another one for gcsfs.
    endpoint = root or "https://storage.googleapis.com"
    return {"endpoint_url": endpoint}, [f"endpoint {printable(shown(endpoint))}"] if root else []
