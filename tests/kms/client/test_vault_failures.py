"""What Vault, or the network to it, can do wrong: each has its condition, and costs few requests."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import pytest

import pme_parquet as pme
from tests.kms import answers
from tests.kms.access import FOOTER, KEYS, by_token, place, secret
from tests.kms.answers import Answer
from tests.kms.client.opened import KEY
from tests.kms.loopback import DROPPED, Fault
from tests.kms.transit_server import TransitServer
from tests.support.expect import refused

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kms.client.opened import ClientJvm
    from tests.kms.transit_key import TransitKey

# Where a test waits for the client to give up, it gives up soon.
SOON = {"kms.timeoutSeconds": "1"}
MOST_ATTEMPTS = 6
LONG = 10


class Failure(NamedTuple):
    """What every request is answered with, and words that say so in the error."""

    fault: Fault
    mention: str


def answered(answer: Answer) -> Fault:
    return Fault(answer)


# Asked once: nothing changes by asking again.
FINAL = {
    "sealed": Failure(answered(answers.SEALED), "sealed"),
    "a token that is none": Failure(answered(answers.INVALID_TOKEN), "token"),
    "no such mount": Failure(answered(answers.no_route("transit/encrypt/footer")), "'transit'"),
    "throttled for longer than there is time": Failure(answered(answers.throttled(60)), "429"),
    "a web page": Failure(answered(Answer(200, b"<html>It works!</html>")), "status 200"),
    "nothing": Failure(answered(Answer(200, b"")), "status 200"),
    "no body at all": Failure(answered(Answer(204, b"")), "status 204"),
    "cut JSON": Failure(answered(Answer(200, b'{"data":{"cipher')), "status 200"),
    "a list": Failure(answered(Answer(200, [])), "status 200"),
    "no data": Failure(answered(Answer(200, {"data": None})), "status 200"),
    "a key that is no text": Failure(answered(answers.data({"ciphertext": 7, "plaintext": {"a": 1}})), "status 200"),
    "too few results": Failure(answered(answers.data({"batch_results": []})), "status 200"),
    "results that are none": Failure(answered(answers.data({"batch_results": [{}]})), "status 200"),
    "a refusal without a reason": Failure(answered(answers.error(400)), "status 400"),
    "a status of nobody's": Failure(answered(Answer(418, b"")), "status 418"),
}
# Asked again, for some of the time that there is.
PASSING = {
    "internal error": Failure(answered(answers.INTERNAL), "500"),
    "bad gateway": Failure(answered(Answer(502, b"<html>")), "502"),
    "unavailable": Failure(answered(Answer(503, b"<html>")), "503"),
    "gateway timeout": Failure(answered(Answer(504, b"")), "504"),
    "a replica behind": Failure(answered(answers.BEHIND), "412"),
    "throttled": Failure(answered(answers.throttled(0)), "429"),
    "dropped connections": Failure(DROPPED, "reached"),
}


def options(vault: TransitServer, directory: Path) -> dict[str, str]:
    return by_token(vault, directory).options()


@pytest.mark.parametrize("name", FINAL)
def test_what_cannot_be_wrapped_is_asked_once(
    clients: ClientJvm, server: TransitServer, tmp_path: Path, name: str
) -> None:
    client = clients.open(options(server, tmp_path))
    server.inject(FINAL[name].fault, times=None)
    mentions = (".parquet", server.url, FINAL[name].mention)
    with refused("PME_KMS_UNAVAILABLE", *mentions, never=tuple(server.state.tokens)):
        client.wrap(FOOTER)
    assert len(server.calls) == 1


@pytest.mark.parametrize("name", FINAL)
def test_what_cannot_be_unwrapped_is_asked_once(
    clients: ClientJvm, server: TransitServer, wrapped: dict[str, str], tmp_path: Path, name: str
) -> None:
    client = clients.open(options(server, tmp_path))
    server.inject(FINAL[name].fault, times=None)
    mentions = (".parquet", server.url, FINAL[name].mention)
    with refused("PME_KMS_UNAVAILABLE", *mentions, never=tuple(server.state.tokens)):
        client.unwrap(wrapped[FOOTER], FOOTER)
    assert len(server.calls) == 1


@pytest.mark.parametrize("name", PASSING)
def test_a_failure_that_does_not_pass_is_given_up(
    clients: ClientJvm, server: TransitServer, tmp_path: Path, name: str
) -> None:
    client = clients.open_without_pauses(options(server, tmp_path))
    server.inject(PASSING[name].fault, times=None)
    mentions = (".parquet", server.url, PASSING[name].mention)
    with refused("PME_KMS_UNAVAILABLE", *mentions, never=tuple(server.state.tokens)):
        client.wrap(FOOTER)
    assert len(server.calls) == MOST_ATTEMPTS


def test_attempts_end_with_the_time_that_there_is(clients: ClientJvm, server: TransitServer, tmp_path: Path) -> None:
    client = clients.open_without_pauses(options(server, tmp_path) | SOON)
    server.inject(answers.INTERNAL, times=None)
    # In what is left of the time after a pause there may be an answer, or none.
    with refused("PME_KMS_UNAVAILABLE", ".parquet", server.url, never=tuple(server.state.tokens)):
        client.wrap(FOOTER)
    assert 2 <= len(server.calls) <= MOST_ATTEMPTS
    assert client.paused() <= 1


@pytest.mark.parametrize("name", PASSING)
def test_a_failure_that_passes_is_not_seen(
    clients: ClientJvm, server: TransitServer, wrapped: dict[str, str], tmp_path: Path, name: str
) -> None:
    client = clients.open_without_pauses(options(server, tmp_path))
    server.inject(PASSING[name].fault, times=2)
    assert [client.unwrap(wrapped[key], key) for key in KEYS] == [KEY] * len(KEYS)
    # The first key is unwrapped at the third attempt.
    assert len(server.calls) == len(KEYS) + 2


def test_a_vault_that_asks_to_wait_is_asked_after_that(
    clients: ClientJvm, server: TransitServer, wrapped: dict[str, str], tmp_path: Path
) -> None:
    client = clients.open_without_pauses(options(server, tmp_path))
    server.inject(answers.throttled(3))
    assert client.unwrap(wrapped[FOOTER], FOOTER) == KEY
    assert client.paused() == 3
    assert len(server.calls) == 2


def test_a_vault_that_is_not_there_is_unavailable(clients: ClientJvm, tmp_path: Path) -> None:
    with TransitServer() as gone:
        client = clients.open_without_pauses(options(gone, tmp_path))
    with refused("PME_KMS_UNAVAILABLE", ".parquet", gone.url, "reached"):
        client.wrap(FOOTER)
    with refused("PME_KMS_UNAVAILABLE", ".parquet", gone.url, "reached"):
        client.unwrap("vault:v1:AAAA", FOOTER)


@pytest.mark.parametrize("cut", [False, True], ids=["no answer", "half an answer"])
def test_a_vault_that_does_not_finish_its_answer_is_given_up_in_time(
    clients: ClientJvm, server: TransitServer, tmp_path: Path, *, cut: bool
) -> None:
    client = clients.open(options(server, tmp_path) | SOON)
    server.inject(Fault(answers.data({"ciphertext": "vault:v1:AAAA"}), delay=LONG, cut=cut), times=None)
    began = time.monotonic()
    with refused("PME_KMS_UNAVAILABLE", "1 s"):
        client.wrap(FOOTER)
    assert time.monotonic() - began < LONG / 2
    assert len(server.calls) == 1


@pytest.mark.parametrize("named", ["../keys/footer", "a/b", "footer?x=1", "fóoter"])
def test_a_key_id_that_vault_cannot_have_is_refused(
    clients: ClientJvm, server: TransitServer, tmp_path: Path, named: str
) -> None:
    client = clients.open(pme.Vault(**place(server), token=secret(tmp_path, server.token())).options())
    with refused("PME_KEY_NOT_FOUND", f"'{named}'"):
        client.wrap(named)
    with refused("PME_KEY_NOT_FOUND", f"'{named}'"):
        client.unwrap("vault:v1:AAAA", named)
    assert server.calls == []


def test_a_standby_may_send_on_to_the_active_node(
    clients: ClientJvm, server: TransitServer, held: dict[str, TransitKey], wrapped: dict[str, str], tmp_path: Path
) -> None:
    client = clients.open(options(server, tmp_path))
    with TransitServer(keys=held) as active:
        active.state.tokens.update(server.state.tokens)
        for key in held:
            path = f"/v1/transit/decrypt/{key}"
            onward = Answer(307, b"", {"Location": f"{active.url}{path}"})
            server.inject(onward, times=None, path=f"decrypt/{key}")
        assert [client.unwrap(wrapped[key], key) for key in KEYS] == [KEY] * len(KEYS)
        assert active.paths() == server.paths() == [f"transit/decrypt/{key}" for key in KEYS]
