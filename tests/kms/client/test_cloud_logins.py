"""`kms=gcp` and `kms=azure`: threads share a login, a failed one is not repeated at once, and one limit is for all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.kms.access import FOOTER
from tests.kms.answers import Answer
from tests.kms.client.opened import KEY
from tests.kms.clouds import reading
from tests.kms.loopback import Fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kms.client.opened import ClientJvm
    from tests.kms.cloud_server import CloudServer

THREADS = 8
FOR_EVER = 60.0


# Long enough for what a busy machine adds to a login.
SOON = {"kms.timeoutSeconds": "3"}


def failure(call: Callable[[], object]) -> str:
    """Return what a client says that fails."""
    with pytest.raises(pme.PmeError) as caught:
        call()
    assert caught.value.condition == "PME_KMS_UNAVAILABLE"
    return str(caught.value)


def at_once(call: Callable[[], Any]) -> list[Any]:
    """Return what the call gives in each of several threads."""
    with ThreadPoolExecutor(THREADS) as pool:
        return [done.result() for done in [pool.submit(call) for _ in range(THREADS)]]


@pytest.mark.parametrize("fault", [Answer(400, {"error": "invalid_grant"}), Fault(delay=FOR_EVER)], ids=["no", "hangs"])
def test_a_login_that_fails_is_tried_once_for_all_threads(
    clients: ClientJvm, cloud: CloudServer, cloud_wrapped: dict[str, str], tmp_path: Path, fault: Fault | Answer
) -> None:
    client = clients.open(reading(cloud, tmp_path) | SOON)
    cloud.inject(fault, times=None, path=cloud.login)
    said = at_once(lambda: failure(lambda: client.unwrap(cloud_wrapped[FOOTER], FOOTER)))
    # The next one gets the same error as these.
    said.append(failure(lambda: client.unwrap(cloud_wrapped[FOOTER], FOOTER)))
    assert all("login at" in words for words in said), said
    assert (cloud.count(cloud.login), cloud.count(cloud.unwrap)) == (1, 0)


def test_a_token_that_is_refused_to_all_threads_is_replaced_once(
    clients: ClientJvm, cloud: CloudServer, cloud_wrapped: dict[str, str], tmp_path: Path
) -> None:
    client = clients.open(reading(cloud, tmp_path))
    assert at_once(lambda: client.unwrap(cloud_wrapped[FOOTER], FOOTER)) == [KEY] * THREADS
    assert cloud.count(cloud.login) == 1
    cloud.expire()
    assert at_once(lambda: client.unwrap(cloud_wrapped[FOOTER], FOOTER)) == [KEY] * THREADS
    assert cloud.count(cloud.login) == 2


def test_login_and_call_share_one_limit(
    clients: ClientJvm, cloud: CloudServer, cloud_wrapped: dict[str, str], tmp_path: Path
) -> None:
    # Each takes less than the limit, and both together more.
    client = clients.open(reading(cloud, tmp_path) | SOON)
    for path in (cloud.login, cloud.unwrap):
        cloud.inject(Fault(delay=2), times=None, path=path)
    assert "within 3 s" in failure(lambda: client.unwrap(cloud_wrapped[FOOTER], FOOTER))
    # The login is there by now.
    assert client.unwrap(cloud_wrapped[FOOTER], FOOTER) == KEY
    assert (cloud.count(cloud.login), cloud.count(cloud.unwrap)) == (1, 2)


def test_a_new_login_and_a_second_call_share_it_as_well(
    clients: ClientJvm, cloud: CloudServer, cloud_wrapped: dict[str, str], tmp_path: Path
) -> None:
    client = clients.open(reading(cloud, tmp_path) | SOON)
    assert client.unwrap(cloud_wrapped[FOOTER], FOOTER) == KEY
    cloud.expire()
    for path in (cloud.login, cloud.unwrap):
        cloud.inject(Fault(delay=1.2), times=None, path=path)
    assert "within 3 s" in failure(lambda: client.unwrap(cloud_wrapped[FOOTER], FOOTER))
