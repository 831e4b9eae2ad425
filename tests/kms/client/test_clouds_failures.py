"""What a cloud's service, or the network to it, can do wrong: each has its condition, and costs few requests."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.kms import answers
from tests.kms.access import FOOTER, KEYS
from tests.kms.answers import Answer
from tests.kms.client.opened import KEY
from tests.kms.clouds import reading
from tests.kms.loopback import DROPPED, Fault
from tests.support.expect import refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kms.client.opened import ClientJvm, Opened
    from tests.kms.cloud_server import CloudServer

# Long enough for what a busy machine adds to a login.
SOON = {"kms.timeoutSeconds": "3"}
MOST_ATTEMPTS = 6
LONG = 10
STRANGE_IDS = ["../pii", "pii/../../x", "pii?x=y", "pii#", "p ii", "pii:wrap", "%70ii", ".", "projects/x"]

NO_VALUES = {"kid": 7, "value": {}, "ciphertext": 7, "plaintext": [], "verifiedPlaintextCrc32c": True}

# Asked once: nothing changes by asking again.
FINAL = {
    "throttled for longer than there is time": (Fault(answers.throttled(60)), "429"),
    "a web page": (Fault(Answer(200, b"<html>It works!</html>")), "gave an answer"),
    "nothing": (Fault(Answer(200, b"")), "gave an answer"),
    "cut JSON": (Fault(Answer(200, b'{"ciphertext":"AA')), "gave an answer"),
    "a list": (Fault(Answer(200, [])), "gave an answer"),
    "values that are none": (Fault(Answer(200, NO_VALUES)), "gave an answer"),
    "a web page that refuses": (Fault(Answer(404, b"<html>")), "status 404"),
    "a status of nobody's": (Fault(Answer(418, b"")), "status 418"),
    "sent on elsewhere": (Fault(Answer(307, b"", {"Location": "https://localhost:1/v1"})), "redirects"),
}
# Asked again, for some of the time that there is.
PASSING = {
    "internal error": (Fault(Answer(500, {"error": {}})), "500"),
    "unavailable": (Fault(Answer(503, b"<html>")), "503"),
    "throttled": (Fault(answers.throttled(0)), "429"),
    "dropped connections": (DROPPED, "reached"),
}
EXPIRED = Answer(401, {"error": {"code": "Unauthorized", "status": "UNAUTHENTICATED"}})


@pytest.fixture
def client(clients: ClientJvm, cloud: CloudServer, tmp_path: Path) -> Opened:
    """Return the client of a new user."""
    return clients.open(reading(cloud, tmp_path))


@pytest.fixture
def hasty(clients: ClientJvm, cloud: CloudServer, tmp_path: Path) -> Opened:
    """Return one that gives up soon."""
    return clients.open(reading(cloud, tmp_path) | SOON)


@pytest.mark.parametrize("name", FINAL)
def test_what_cannot_be_wrapped_is_asked_once(cloud: CloudServer, client: Opened, name: str) -> None:
    fault, mention = FINAL[name]
    cloud.inject(fault, times=None, path=cloud.wrap)
    with refused("PME_KMS_UNAVAILABLE", ".parquet", cloud.url, mention, never=cloud.secrets):
        client.wrap(FOOTER)
    assert (cloud.count(cloud.wrap), cloud.count(cloud.login)) == (1, 1)


@pytest.mark.parametrize("name", FINAL)
def test_what_cannot_be_unwrapped_is_asked_once(
    cloud: CloudServer, cloud_wrapped: dict[str, str], client: Opened, name: str
) -> None:
    fault, mention = FINAL[name]
    cloud.inject(fault, times=None, path=cloud.unwrap)
    with refused("PME_KMS_UNAVAILABLE", ".parquet", mention, never=cloud.secrets):
        client.unwrap(cloud_wrapped[FOOTER], FOOTER)
    assert (cloud.count(cloud.unwrap), cloud.count(cloud.login)) == (1, 1)


@pytest.mark.parametrize("name", PASSING)
def test_a_failure_that_does_not_pass_is_given_up(cloud: CloudServer, client: Opened, name: str) -> None:
    fault, mention = PASSING[name]
    cloud.inject(fault, times=None, path=cloud.wrap)
    with refused("PME_KMS_UNAVAILABLE", cloud.url, mention, never=cloud.secrets):
        client.wrap(FOOTER)
    assert cloud.count(cloud.wrap) == MOST_ATTEMPTS


@pytest.mark.parametrize("name", PASSING)
def test_a_failure_that_passes_is_not_seen(
    cloud: CloudServer, cloud_wrapped: dict[str, str], client: Opened, name: str
) -> None:
    cloud.inject(PASSING[name][0], times=2, path=cloud.unwrap)
    assert [client.unwrap(cloud_wrapped[key], key) for key in KEYS] == [KEY] * len(KEYS)
    assert cloud.count(cloud.unwrap) == len(KEYS) + 2


@pytest.mark.parametrize("what", ["login", "wrap"])
def test_a_slow_service_is_given_up_in_time(cloud: CloudServer, hasty: Opened, what: str) -> None:
    cloud.inject(Fault(delay=LONG), times=None, path=getattr(cloud, what))
    began = time.monotonic()
    with refused("PME_KMS_UNAVAILABLE", "3 s", never=cloud.secrets):
        hasty.wrap(FOOTER)
    assert time.monotonic() - began < LONG
    assert cloud.count(getattr(cloud, what)) == 1


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_login_that_is_refused_is_tried_once(cloud: CloudServer, client: Opened, status: int) -> None:
    cloud.inject(Answer(status, {"error": "invalid_grant"}), times=None, path=cloud.login)
    with refused("PME_KMS_UNAVAILABLE", "login", str(status), never=cloud.secrets):
        client.wrap(FOOTER)
    assert (cloud.count(cloud.wrap), cloud.count(cloud.login)) == (0, 1)


@pytest.mark.parametrize(
    "body",
    [b"<html>", {}, {"access_token": 7, "expires_in": 60}, {"access_token": "a\r\nb: c", "expires_in": 60}],
    ids=["a web page", "nothing", "a number", "two lines"],
)
def test_an_invalid_token_is_not_used(cloud: CloudServer, client: Opened, body: object) -> None:
    cloud.inject(Answer(200, body), times=None, path=cloud.login)
    with refused("PME_KMS_UNAVAILABLE", "login", never=cloud.secrets):
        client.wrap(FOOTER)
    assert cloud.count(cloud.wrap) == 0


def test_a_token_that_ends_early_is_replaced_once(
    cloud: CloudServer, cloud_wrapped: dict[str, str], client: Opened
) -> None:
    cloud.inject(EXPIRED, times=1, path=cloud.unwrap)
    assert [client.unwrap(cloud_wrapped[key], key) for key in KEYS] == [KEY] * len(KEYS)
    assert (cloud.count(cloud.unwrap), cloud.count(cloud.login)) == (len(KEYS) + 1, 2)


def test_tokens_that_are_never_taken_are_given_up(
    cloud: CloudServer, cloud_wrapped: dict[str, str], client: Opened
) -> None:
    cloud.inject(EXPIRED, times=None, path=cloud.unwrap)
    with refused("PME_KMS_UNAVAILABLE", "token", never=cloud.secrets):
        client.unwrap(cloud_wrapped[FOOTER], FOOTER)
    assert (cloud.count(cloud.unwrap), cloud.count(cloud.login)) == (2, 2)


@pytest.mark.parametrize("name", STRANGE_IDS)
def test_an_id_that_would_change_the_address_is_refused_unasked(cloud: CloudServer, client: Opened, name: str) -> None:
    with refused("PME_KEY_NOT_FOUND", "of the form"):
        client.wrap(name)
    assert cloud.calls == []


def flipped(text: str) -> str:
    return f"{text[:-30]}{'A' if text[-30] != 'A' else 'B'}{text[-29:]}"


ALTERED: dict[str, Callable[[str], str]] = {
    "flipped": flipped,
    "shorter": lambda text: text[:-8],
    "much shorter": lambda text: text[:40],
    "longer": lambda text: f"{text}?",
    "of a version that is none": lambda _: "azure:1:AAAA",
    "no key": lambda _: "?",
}


@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_key_does_not_open(
    cloud: CloudServer, cloud_wrapped: dict[str, str], client: Opened, name: str
) -> None:
    with refused("PME_NOT_AUTHENTIC", f"'{FOOTER}'", ".parquet", never=cloud.secrets):
        client.unwrap(ALTERED[name](cloud_wrapped[FOOTER]), FOOTER)
