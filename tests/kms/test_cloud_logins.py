"""`kms=gcp` and `kms=azure`: threads share a login, a failed one is not repeated at once, and one limit is for all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError

from tests.kms.azure_server import AzureServer
from tests.kms.gcp_server import GcpServer
from tests.support.kms.access import FOOTER, KEYS
from tests.support.kms.answers import Answer
from tests.support.kms.loopback import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from tests.kms.cloud_server import CloudServer

SERVERS: dict[str, Any] = {"gcp": GcpServer, "azure": AzureServer}
THREADS = 8
FOR_EVER = 60.0
KEY = bytes(range(16))


@pytest.fixture(scope="module", params=SERVERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def service_keys(kind: str) -> dict[str, Any]:
    made: dict[str, Any] = SERVERS[kind].new_keys()
    return made


@pytest.fixture
def cloud(kind: str, service_keys: dict[str, Any]) -> Iterator[CloudServer]:
    with SERVERS[kind](service_keys) as made:
        yield made


@pytest.fixture
def wrapped(spark: SparkSession, cloud: CloudServer) -> str:
    """Return a key that the service wrapped; the calls for it are not counted."""
    made: str = client_of(spark, cloud).wrapKey(bytearray(KEY), FOOTER)
    cloud.calls.clear()
    return made


def client_of(spark: SparkSession, cloud: CloudServer, **settings: str) -> Any:
    """Return a client of a new user, as parquet-java makes one."""
    jvm = spark._jvm
    assert jvm is not None
    conf = jvm.org.apache.hadoop.conf.Configuration()
    for name, value in (cloud.alone(KEYS) | settings).items():
        conf.set(f"parquet.encryption.{name}", value)
    client = jvm.org.apache.hadoop.util.ReflectionUtils.newInstance(conf.getClassByName(cloud.client), conf)
    client.initialize(conf, "DEFAULT", "DEFAULT", "DEFAULT")
    return client


def of_one_second(spark: SparkSession, cloud: CloudServer) -> Any:
    return client_of(spark, cloud, **{"kms.timeoutSeconds": "1"})


def failure(call: Callable[[], object]) -> str:
    """Return what a client says that fails."""
    with pytest.raises(Py4JJavaError) as caught:
        call()
    return str(caught.value.java_exception.getMessage())


def at_once(call: Callable[[], Any]) -> list[Any]:
    """Return what the call gives in each of several threads."""
    with ThreadPoolExecutor(THREADS) as pool:
        return [done.result() for done in [pool.submit(call) for _ in range(THREADS)]]


@pytest.mark.parametrize("fault", [Answer(400, {"error": "invalid_grant"}), Fault(delay=FOR_EVER)], ids=["no", "hangs"])
def test_a_login_that_fails_is_tried_once_for_all_threads(
    spark: SparkSession, cloud: CloudServer, wrapped: str, fault: Fault | Answer
) -> None:
    client = of_one_second(spark, cloud)
    cloud.inject(fault, times=None, path=cloud.login)
    said = at_once(lambda: failure(lambda: client.unwrapKey(wrapped, FOOTER)))
    # The next one is told what these were told.
    said.append(failure(lambda: client.unwrapKey(wrapped, FOOTER)))
    assert all("login at" in words for words in said), said
    assert (cloud.count(cloud.login), cloud.count(cloud.unwrap)) == (1, 0)


def test_a_token_that_is_refused_to_all_threads_is_replaced_once(
    spark: SparkSession, cloud: CloudServer, wrapped: str
) -> None:
    client = client_of(spark, cloud)
    assert at_once(lambda: bytes(client.unwrapKey(wrapped, FOOTER))) == [KEY] * THREADS
    assert cloud.count(cloud.login) == 1
    cloud.expire()
    assert at_once(lambda: bytes(client.unwrapKey(wrapped, FOOTER))) == [KEY] * THREADS
    assert cloud.count(cloud.login) == 2


def test_login_and_call_share_one_limit(spark: SparkSession, cloud: CloudServer, wrapped: str) -> None:
    # Each takes less than the limit, and both together more.
    client = of_one_second(spark, cloud)
    for path in (cloud.login, cloud.unwrap):
        cloud.inject(Fault(delay=0.7), times=None, path=path)
    assert "within 1 s" in failure(lambda: client.unwrapKey(wrapped, FOOTER))
    # The login is there by now.
    assert bytes(client.unwrapKey(wrapped, FOOTER)) == KEY
    assert (cloud.count(cloud.login), cloud.count(cloud.unwrap)) == (1, 2)


def test_a_new_login_and_a_second_call_share_it_as_well(spark: SparkSession, cloud: CloudServer, wrapped: str) -> None:
    client = of_one_second(spark, cloud)
    assert bytes(client.unwrapKey(wrapped, FOOTER)) == KEY
    cloud.expire()
    for path in (cloud.login, cloud.unwrap):
        cloud.inject(Fault(delay=0.4), times=None, path=path)
    assert "within 1 s" in failure(lambda: client.unwrapKey(wrapped, FOOTER))
