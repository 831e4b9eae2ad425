"""ABFS's settings, as options of adlfs. A setting of an account (`….ACCOUNT.dfs.core.windows.net`) wins."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from pme_parquet._access.settings import Narrowed, in_a_provider, missing, untranslated
from pme_parquet._display.words import printable

if TYPE_CHECKING:
    from pme_parquet._access.settings import Settings

_PUBLIC = ".dfs.core.windows.net"
_TYPE = "fs.azure.account.auth.type"
_KEY = "fs.azure.account.key"
_SAS = "fs.azure.sas.fixed.token"
_OAUTH = "fs.azure.account.oauth2.client"
_PROVIDER = "fs.azure.account.oauth.provider.type"
_CLIENT = "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
_ENDPOINT = re.compile(r"https://login\.microsoftonline\.com/([^/]+)/oauth2/(?:v2\.0/)?token/?")
_WHY = "adlfs has no such setting"
_ONLY = {
    "fs.azure.account.keyprovider": (("org.apache.hadoop.fs.azurebfs.services.SimpleKeyProvider",), _WHY),
    "fs.azure.encryption.context.provider.type": ((), _WHY),
    "fs.azure.encryption.encoded.client-provided-key": ((), _WHY),
    "fs.azure.sas.token.provider.type": ((), _WHY),
}
# It stands for the host of every account. ABFS has it for tests.
_ENDPOINT_OF_TESTS = {"fs.azure.abfs.endpoint": ((), "adlfs would ask the account in the public cloud")}
_JCEKS = "hadoop.security.credential.provider.path"
# What an option does not say, adlfs takes from variables: a connection string even wins over options.
_VARIABLES = "AZURE_STORAGE_"


def translated(below: str, scheme: str, settings: Settings, where: str) -> tuple[dict[str, Any], list[str]]:
    """As `s3.translated`, for adlfs."""
    container, at, host = below.partition("/")[0].partition("@")
    name = host.removesuffix(_PUBLIC)
    if not at or name == host or not name:
        why = "only accounts of the public cloud (ACCOUNT.dfs.core.windows.net) are reached by adlfs"
        raise untranslated(where, f"{scheme}://{container}@…", "", why)
    account = Narrowed(settings, lambda setting: f"{setting}.{host}")
    account.require_harmless(_ONLY, where, are_secret=True)
    account.require_harmless(_ENDPOINT_OF_TESTS, where, are_secret=False)
    if settings.get(_JCEKS):
        raise in_a_provider(where, _JCEKS, "keys")
    for variable in sorted(os.environ):
        if variable.startswith(_VARIABLES):
            raise untranslated(where, _TYPE, "", f"adlfs would take {variable} from the environment, too")
    options, how = _credentials(account, where)
    return {"account_name": name, "anon": False} | options, [f"account {printable(name)}", how]


def _credentials(account: Narrowed, where: str) -> tuple[dict[str, Any], str]:
    kind = account.get(_TYPE) or "SharedKey"
    if kind == "SharedKey":
        return {"account_key": _required(account, _KEY, where)}, f"key of {account.named(_KEY)}"
    if kind == "SAS":
        return {"sas_token": _required(account, _SAS, where).removeprefix("?")}, f"token of {account.named(_SAS)}"
    if kind != "OAuth":
        raise untranslated(where, account.named(_TYPE), kind, "this kind of login is not known")
    provider = account.get(_PROVIDER)
    if provider != _CLIENT:
        why = "only ClientCredsTokenProvider has a counterpart in adlfs"
        raise untranslated(where, account.named(_PROVIDER), provider, why)
    endpoint = _ENDPOINT.fullmatch(_required(account, f"{_OAUTH}.endpoint", where))
    if endpoint is None:
        setting = account.named(f"{_OAUTH}.endpoint")
        raise untranslated(where, setting, "", "it does not name a tenant of login.microsoftonline.com")
    options = {
        "tenant_id": endpoint[1],
        "client_id": _required(account, f"{_OAUTH}.id", where),
        "client_secret": _required(account, f"{_OAUTH}.secret", where),
    }
    return options, f"client of {account.named(f'{_OAUTH}.id')}"


def _required(account: Narrowed, setting: str, where: str) -> str:
    found = account.get(setting)
    if not found:
        raise missing(where, f"{setting} is not set", "Set it.")
    return found
