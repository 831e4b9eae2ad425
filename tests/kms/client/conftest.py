"""One JVM for all clients, and a wrapped key for those that unwrap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kms.access import KEYS, by_token
from tests.kms.aws import CREDENTIALS, access, properties_of
from tests.kms.client.opened import client_jvm
from tests.kms.clouds import reading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kms.aws_server import AwsServer
    from tests.kms.client.opened import ClientJvm, Opened
    from tests.kms.cloud_server import CloudServer
    from tests.kms.transit_server import TransitServer


@pytest.fixture(scope="session")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientJvm]:
    """Return what opens clients, each of which is new and keeps nothing of another's."""
    with client_jvm(tmp_path_factory.mktemp("clients") / "classes") as made:
        yield made


@pytest.fixture
def aws_credentials(clients: ClientJvm) -> Iterator[None]:
    """Give the JVM credentials of AWS."""
    with properties_of(clients.jvm, CREDENTIALS):
        yield


@pytest.fixture
def aws_client(clients: ClientJvm, aws: AwsServer, aws_credentials: None) -> Opened:
    """Return a client of AWS KMS."""
    return clients.open(access(aws).options())


@pytest.fixture
def wrapped(clients: ClientJvm, server: TransitServer, tmp_path: Path) -> dict[str, str]:
    """Return a key, wrapped under each master key of the Vault; the calls for it are not counted."""
    client = clients.open(by_token(server, tmp_path).options())
    made = {name: client.wrap(name) for name in KEYS}
    server.calls.clear()
    return made


@pytest.fixture
def cloud_wrapped(clients: ClientJvm, cloud: CloudServer, tmp_path: Path) -> dict[str, str]:
    """Return the same for the cloud's service."""
    client = clients.open(reading(cloud, tmp_path))
    made = {name: client.wrap(name) for name in KEYS}
    cloud.calls.clear()
    return made
