"""py4j's callback server, which the JVM calls a client in Python by, listens to every user of the machine."""

from __future__ import annotations

import socket
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.kms.access import read, rows
from tests.support.expect import save
from tests.support.kms.clients import Client
from tests.support.kms.counting import FOOTER, frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = "!ys"
KEY = b64encode(bytes(16)).decode()


class Stranger:
    """A process of another user, who speaks py4j's protocol and guesses the object's name: they are numbered."""

    def __init__(self, spark: SparkSession, client: Client) -> None:
        gateway: Any = spark.sparkContext._gateway
        objects = gateway.gateway_property.pool.dict
        before = set(objects)
        self.kms = pme.PythonKms(client)
        self.options = self.kms.options()
        [self._name] = set(objects) - before
        self.attributes = dir(objects[self._name])
        self._address = gateway._callback_server.server_socket.getsockname()

    def ask(self, method: str, *texts: str) -> str:
        """Call a method of the object, and return what the server answers."""
        command = ["c", self._name, method, *(f"s{text}" for text in texts), "e", ""]
        with socket.create_connection(self._address, timeout=30) as connection:
            connection.sendall("\n".join(command).encode())
            return connection.makefile().readline().rstrip("\n")

    def have_wrapped(self, *secret: str) -> None:
        for method in ("call", "wrap_key"):
            self.ask(method, *secret, "wrap", KEY, FOOTER)


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
def stranger(spark: SparkSession, client: Client) -> Stranger:
    return Stranger(spark, client)


def test_who_knows_nothing_or_names_that_the_object_shows_has_nothing_wrapped(
    stranger: Stranger, client: Client
) -> None:
    stranger.have_wrapped()
    stranger.have_wrapped("")
    stranger.have_wrapped("guessed")
    shown = [stranger.ask("__getattribute__", name) for name in stranger.attributes]
    for answer in shown:
        if answer.startswith(TEXT):
            stranger.have_wrapped(answer.removeprefix(TEXT))
    assert client.calls == []


def test_nothing_that_is_changed_in_the_object_helps_and_the_driver_is_served_afterwards(
    spark: SparkSession, stranger: Stranger, client: Client, target: str
) -> None:
    for name in stranger.attributes:
        fresh = Stranger(spark, client)
        fresh.ask("__setattr__", name, "planted")
        fresh.have_wrapped("planted")
    stranger.have_wrapped("guessed")
    assert client.calls == []
    content = frame(spark, 1, 1)
    save(content, target, stranger.options | {"uniformKey": FOOTER})
    assert rows(read(spark, target, stranger.options)) == rows(content)
    assert client.calls == [("wrap", FOOTER), ("unwrap", FOOTER)]
