"""`inspect`, `snapshots` and `report` on Azure Data Lake Storage Gen2, through adlfs.

adlfs knows accounts of the public cloud, so what it sends to one is taken to the server of the tests at its very end,
where it has signed it.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.storage.clouds import blobs
from tests.storage.clouds.azure import ACCOUNT, CONTAINER, Azure
from tests.storage.clouds.inspecting import OF_SESSION, Twins, only_the_store
from tests.storage.clouds.place import reached
from tests.support import needs
from tests.support.expect import refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

pytestmark = [needs.s3a, needs.test_all, needs.package("adlfs"), pytest.mark.all_rows]

SIGNED = "c2lnbmVk"
KEY = b64encode(b"nothing").decode()


@pytest.fixture(scope="module")
def store(spark: SparkSession) -> Iterator[Azure]:
    with Azure() as made, reached(spark, made):
        yield made


@pytest.fixture
def twins(store: Azure, request: pytest.FixtureRequest, tmp_path: Path) -> Twins:
    return Twins.of(request, store, f"abfs://{CONTAINER}@{ACCOUNT}", tmp_path / "people")


@pytest.fixture
def sent(store: Azure, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Take what adlfs sends to the account to the store, and return the hosts to which it sent something."""
    from azure.core.pipeline.transport import AioHttpTransport

    hosts: set[str] = set()
    send = AioHttpTransport.send

    async def to_store(self: Any, request: Any, **options: Any) -> Any:
        hosts.add(request.url.split("/")[2])
        request.url = request.url.replace(f"https://{blobs.ACCOUNT}", f"{store.url}/{blobs.ACCOUNT}", 1)
        return await send(self, request, **options)

    monkeypatch.setattr(AioHttpTransport, "send", to_store)
    return hosts


def logins(store: Azure, since: int) -> set[str]:
    """Return how those logged in who asked the Blob interface."""
    return {asked.login.partition(":")[0] for asked in store.requests[since:] if "blob" in asked.operation}


@pytest.mark.parametrize(
    ("settings", "how", "login"),
    [
        ({}, f"key of fs.azure.account.key.{ACCOUNT}", "SharedKey lake"),
        (
            {f"fs.azure.account.auth.type.{ACCOUNT}": "SAS", "fs.azure.sas.fixed.token": f"?sv=1&sig={SIGNED}"},
            "token of fs.azure.sas.fixed.token",
            SIGNED,
        ),
    ],
    ids=["shared key", "SAS"],
)
def test_as_the_session_reaches_it(
    store: Azure, twins: Twins, sent: set[str], conf: Conf, settings: dict[str, str], how: str, login: str
) -> None:
    before = len(store.requests)
    with conf({"fs.azure.abfs.endpoint": "", **settings}), only_the_store():
        twins.assert_same(f"{OF_SESSION}account lake, {how}", spark=twins.place.spark)
    assert sent == {blobs.ACCOUNT}
    assert logins(store, before) == {login}


def test_the_endpoint_of_tests_is_refused(spark: SparkSession, twins: Twins, sent: set[str]) -> None:
    with refused("PME_UNSUPPORTED", "fs.azure.abfs.endpoint", never=(KEY,)):
        pme.inspect(twins.place.path, spark=spark)
    assert sent == set()


def test_with_a_connection_string(store: Azure, twins: Twins) -> None:
    account = f"DefaultEndpointsProtocol=http;AccountName=lake;AccountKey={KEY}"
    options = {"connection_string": f"{account};BlobEndpoint={store.url}/{blobs.ACCOUNT}"}
    before = len(store.requests)
    with only_the_store():
        twins.assert_same_page("storage_options: connection_string", storage_options=options)
        twins.assert_same("storage_options: connection_string", storage_options=options)
    assert logins(store, before) == {"SharedKey lake"}
