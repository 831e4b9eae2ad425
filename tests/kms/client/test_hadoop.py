"""What a Hadoop KMS refuses, wrapped keys that were altered, and addresses of no use."""

from __future__ import annotations

import base64
import socket
import time
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.access import FOOTER, PAY, PII
from tests.kms.client.opened import KEY
from tests.support.expect import refused
from tests.support.kms.hadoop_server import LONG, RESTRICTED, HadoopKms, copy_keys, free_port, running

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kms.client.opened import ClientJvm, Opened


@pytest.fixture
def client(clients: ClientJvm, hadoop_kms: HadoopKms) -> Opened:
    return clients.open(pme.HadoopKms(hadoop_kms.uri).options())


@pytest.mark.parametrize("bits", [128, 192, 256])
@pytest.mark.parametrize("name", [FOOTER, LONG])
def test_keys_of_every_length_come_back(hadoop_kms: HadoopKms, client: Opened, name: str, bits: int) -> None:
    key, before = bytes(range(bits // 8)), hadoop_kms.opened()
    assert client.unwrap(client.wrap(name, key), name) == key
    # The server opens one key for each call.
    assert hadoop_kms.opened() - before == 2


def test_a_rolled_key_still_opens_old_keys_and_wraps_new_ones_with_its_new_version(
    hadoop_kms: HadoopKms, client: Opened
) -> None:
    hadoop_kms.create("turning")
    wrapped = []
    for _ in range(2):
        wrapped.append(client.wrap("turning"))
        hadoop_kms.roll("turning")
    assert [text.split(":")[1] for text in wrapped] == ["0", "1"]
    assert [client.unwrap(text, "turning") for text in wrapped] == [KEY] * 2


def test_a_key_of_others_is_denied(clients: ClientJvm, client: Opened, hadoop_folder: Path, tmp_path: Path) -> None:
    with refused("PME_KEY_DENIED", f"'{RESTRICTED}'", "Hadoop KMS"):
        client.wrap(RESTRICTED)
    wrapped = {name: client.wrap(name) for name in (PII, PAY)}
    copy_keys(hadoop_folder, tmp_path / "strict")
    with running(tmp_path / "strict", {PII: "nobody-here"}) as strict:
        few = clients.open(pme.HadoopKms(strict.uri).options())
        assert few.unwrap(wrapped[PAY], PAY) == KEY
        with refused("PME_KEY_DENIED", f"'{PII}'"):
            few.unwrap(wrapped[PII], PII)


def test_what_a_deleted_key_wrapped_does_not_open(clients: ClientJvm, hadoop_kms: HadoopKms, client: Opened) -> None:
    hadoop_kms.create("leaving")
    wrapped = client.wrap("leaving")
    hadoop_kms.delete("leaving")
    with refused("PME_KEY_NOT_FOUND", "'leaving'"):
        clients.open(pme.HadoopKms(hadoop_kms.uri).options()).unwrap(wrapped, "leaving")


@pytest.mark.parametrize("name", ["none", "../keys", "a/b", "a?b", "fóoter", ".."])
def test_a_key_that_the_server_does_not_have_is_not_found(client: Opened, name: str) -> None:
    with refused("PME_KEY_NOT_FOUND", f"'{name}'"):
        client.wrap(name)


def flipped(part: int, text: str) -> str:
    """Return the wrapped key with a bit of one of its parts turned over."""
    parts = text.split(":")
    content = bytearray(base64.b64decode(parts[part]))
    content[-1] ^= 1
    parts[part] = base64.b64encode(content).decode()
    return ":".join(parts)


ALTERED: dict[str, tuple[Callable[[str], str], str]] = {
    "the IV": (lambda text: flipped(2, text), "PME_NOT_AUTHENTIC"),
    "the encrypted key": (lambda text: flipped(3, text), "PME_NOT_AUTHENTIC"),
    "the wrapped key": (lambda text: flipped(4, text), "PME_NOT_AUTHENTIC"),
    "the version": (lambda text: text.replace(":0:", ":5:"), "PME_KEY_NOT_FOUND"),
    "a version that is none": (lambda text: text.replace(":0:", ":-1:"), "PME_KEY_METADATA"),
    "a number spelt otherwise": (lambda text: text.replace(":0:", ":00:"), "PME_KEY_METADATA"),
    "one part less": (lambda text: text.rpartition(":")[0], "PME_KEY_METADATA"),
    "one part more": (lambda text: f"{text}:AAAA", "PME_KEY_METADATA"),
    "a long text": (lambda text: text + "A" * 100_000, "PME_KEY_METADATA"),
    "no IV": (lambda text: "::".join((text[:8], text.split(":", 3)[3])), "PME_KEY_METADATA"),
    "a longer IV": (lambda text: text.replace(":0:", ":0:AAAA"), "PME_KEY_METADATA"),
    "nothing": (lambda _: "", "PME_KEY_METADATA"),
}


@pytest.mark.parametrize("altered", ALTERED)
def test_an_altered_wrapped_key_does_not_open(client: Opened, altered: str) -> None:
    change, condition = ALTERED[altered]
    wrapped = client.wrap(FOOTER)
    assert client.unwrap(wrapped, FOOTER) == KEY
    with refused(condition):
        client.unwrap(change(wrapped), FOOTER)


def test_a_key_wrapped_by_one_master_key_does_not_pass_for_anothers(client: Opened) -> None:
    wrapped = client.wrap(FOOTER)
    with refused("PME_NOT_AUTHENTIC", f"'{PII}'"):
        client.unwrap(wrapped, PII)


def test_a_server_that_is_down_is_unavailable(clients: ClientJvm) -> None:
    down = clients.open(pme.HadoopKms(f"kms://http@127.0.0.1:{free_port()}/kms").options())
    with refused("PME_KMS_UNAVAILABLE", "Hadoop KMS"):
        down.wrap(FOOTER)


def test_a_server_that_does_not_answer_is_given_up_in_time(clients: ClientJvm) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        keys = pme.HadoopKms(f"kms://http@127.0.0.1:{silent.getsockname()[1]}/kms")
        client = clients.open(keys.options() | {"kms.timeoutSeconds": "1"})
        began = time.monotonic()
        with refused("PME_KMS_UNAVAILABLE", "Hadoop KMS"):
            client.wrap(FOOTER)
        # Far below what Hadoop's own limits and further attempts come to.
        assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("kms://http@kms.example:9600/kms", "unencrypted"),
        ("kms://http@127.0.0.1;kms.example:9600/kms", "unencrypted"),
        ("jceks://file/tmp/keys.jceks", "kms://https@HOST:PORT/kms"),
        ("https://kms.example:9600/kms", "kms://https@HOST:PORT/kms"),
        ("not an address", "not a URL"),
        ("kms://https@kms.invalid:9600/kms/../admin", "plain path"),
        ("kms://https@kms.invalid:9600/kms?user.name=root", "plain path"),
        ("kms://https@kms.invalid:9600/kms%2f..", "plain path"),
        ("kms://https@kms.invalid:9600/a//b", "plain path"),
    ],
)
def test_an_address_of_no_use_is_refused(clients: ClientJvm, uri: str, why: str) -> None:
    with refused("PME_BAD_OPTION", "kms.hadoop.uri", why):
        clients.open(pme.HadoopKms().options() | {"kms.hadoop.uri": uri})
