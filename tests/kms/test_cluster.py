"""Executors in processes of their own ask the driver for keys: it alone calls the KMS, once for each key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kms.cluster_job import FILES, PAUSE, TABLES, WAYS
from tests.support import needs
from tests.support.expect import DONE
from tests.support.files.key_material import data_keys, spellings
from tests.support.kms.cluster_places import STATIC, TOKEN, Cluster, run
from tests.support.kms.counting import FOOTER, column_keys, masters
from tests.support.session import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

WARNING = b"does not encrypt. Set spark.authenticate=true"
DRIVER = "driver"
LATENCIES = 3
REMEMBERED = 10

# Eight JVMs more are much for a small machine: `make test-all` has them.
SHARED = 2
SIZES = [SHARED, pytest.param(1, marks=needs.test_all), pytest.param(8, marks=needs.test_all)]
FEW = [f"few-{scan}-{reader}" for scan, reader in WAYS]
READS = {
    **dict.fromkeys([*FEW, "given", "twice", "merged"], 3),
    **{f"cold-{columns}-{files}": columns for columns, files in TABLES},
}


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: f"{size} executors")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """Return a job that has run on a cluster whose network is not encrypted."""
    executors: int = request.param
    if executors == SHARED:
        shared: Cluster = request.getfixturevalue("two_executors")
        return shared
    return run(tmp_path_factory.mktemp("cluster"), executors, 512 if executors > 2 else 1024)


@pytest.fixture(scope="module")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """Return one that has run on a cluster whose network is."""
    on = {"spark_authenticate": "true", "spark_network_crypto_enabled": "true"}
    secret = {"spark_authenticate_secret": "between-these-processes"}
    return run(tmp_path_factory.mktemp("protected"), 2, 1024, short=True, **on, **secret)


def keys(columns: int, times: int = 1) -> dict[str, int]:
    return dict.fromkeys([FOOTER, *column_keys(columns)], times)


def assert_asked_by_driver(cluster: Cluster, name: str, what: str, expected: dict[str, int]) -> None:
    """Fail unless these calls were made, by the driver's process, and no others."""
    log = cluster.calls(name)
    assert log.count(what) == expected
    assert {(call.what, call.executor) for call in log.calls()} == {(what, DRIVER)}
    assert len({call.pid for call in log.calls()}) == 1


def test_every_step_of_the_job_went_well(cluster: Cluster) -> None:
    steps = {name: step for name, step in cluster.steps.items() if name not in {"denied", "down"}}
    assert {name: step.text for name, step in steps.items() if step.condition != DONE} == {}
    assert [name for name, step in steps.items() if step.is_right is False] == []
    # Every executor had tasks.
    tasks = {name: count for name, count in cluster.result.tasks.items() if name != DRIVER}
    assert len(tasks) == cluster.executors
    assert min(tasks.values()) > 0


def test_the_driver_asks_once_for_each_key(cluster: Cluster) -> None:
    for columns, files in TABLES:
        assert_asked_by_driver(cluster, f"write-{columns}-{files}", "wrap", keys(columns))
    for name, columns in READS.items():
        assert_asked_by_driver(cluster, name, "unwrap", keys(columns))
    # With single wrapping, for each data key.
    assert_asked_by_driver(cluster, "single", "wrap", keys(3, times=1 + FILES))
    assert_asked_by_driver(cluster, "read-single", "unwrap", keys(3, times=FILES))


def test_a_slow_kms_costs_three_latencies_at_most(cluster: Cluster) -> None:
    for columns, files in TABLES:
        assert_asked_by_driver(cluster, f"slow-{columns}-{files}", "unwrap", keys(columns))
        assert cluster.calls(f"slow-{columns}-{files}").rounds(PAUSE) <= LATENCIES


def test_executors_that_call_the_kms_do_so_once_each(cluster: Cluster) -> None:
    calls = cluster.calls("executor").calls()
    callers = {call.executor for call in calls}
    assert callers
    assert callers <= {str(number) for number in range(cluster.executors)}
    for caller in callers:
        asked = [call.key for call in calls if call.executor == caller]
        assert sorted(asked) == sorted(keys(3))


def test_a_key_that_the_driver_is_refused_is_refused_in_an_executors_task(cluster: Cluster) -> None:
    denied = cluster.steps["denied"]
    assert denied.condition == "PME_KEY_DENIED"
    for words in ("'k1'", "column 'c1'", ".parquet", "[PME_KEY_DENIED]"):
        assert words in denied.text
    asked = cluster.calls("denied").count("unwrap")
    # The task is tried four times, and others fail at the same time.
    assert asked.pop("k1") <= 1 + int(denied.seconds / REMEMBERED)
    assert max(asked.values()) == 1
    assert {call.executor for call in cluster.calls("denied").calls()} == {DRIVER}


def test_a_kms_that_does_not_answer_is_asked_once_for_all_executors(cluster: Cluster) -> None:
    down = cluster.steps["down"]
    assert down.condition == "PME_KMS_UNAVAILABLE"
    assert cluster.calls("down").count("unwrap")[FOOTER] <= 1 + int(down.seconds / REMEMBERED)
    assert {(call.key, call.executor) for call in cluster.calls("down").calls()} == {(FOOTER, DRIVER)}


def test_a_client_in_python_serves_executors(cluster: Cluster) -> None:
    assert cluster.steps["python"].is_right
    assert cluster.result.wrapped == cluster.result.unwrapped == keys(3)


@needs.linux
def test_executors_were_started_without_a_secret(cluster: Cluster) -> None:
    started = {name: content for name, content in cluster.shown().items() if name.startswith("shown/executor-")}
    assert len(started) == cluster.executors
    for content in started.values():
        assert b"PME_CLUSTER_TOKEN=none" in content
        assert TOKEN.encode() not in content
        assert PASSWORD.encode() not in content


def warnings(cluster: Cluster) -> list[bytes]:
    """Return each line, of driver or executors, that warns of RPC that nothing encrypts."""
    texts = [content for name, content in cluster.shown().items() if name.endswith((".log", "/stderr", "console.txt"))]
    return [line for text in texts for line in text.splitlines() if WARNING in line]


def test_unencrypted_rpc_is_reported_once(cluster: Cluster) -> None:
    [line] = warnings(cluster)
    assert line.startswith(b"WARN io.pmeparquet.")
    assert b"spark.network.crypto.enabled=true" in line


@pytest.mark.nightly
def test_with_encrypted_rpc_everything_works_without_a_warning(protected: Cluster) -> None:
    assert warnings(protected) == []
    assert {name: protected.steps[name].text for name in ["few", *FEW]} == dict.fromkeys(["few", *FEW], "")
    assert all(protected.steps[name].is_right for name in FEW)
    for name in FEW:
        assert_asked_by_driver(protected, name, "unwrap", keys(3))


def places(shown: dict[str, bytes], secrets: Iterable[bytes]) -> list[tuple[str, str]]:
    """Return where a secret was shown, and how it was spelled."""
    wanted = [(spelling, raw) for secret in secrets for spelling, raw in spellings(secret).items()]
    return [(name, spelling) for name, content in shown.items() for spelling, raw in wanted if raw in content]


def test_the_job_logged_and_showed_what_it_was_to(cluster: Cluster) -> None:
    shown = cluster.shown()
    assert b"DEBUG " in shown["shown/driver.log"]
    assert b"spark.app.initial.jar.urls" in shown["shown/settings.txt"]
    assert b"SparkListenerApplicationStart" in b"".join(text for name, text in shown.items() if "events" in name)
    assert b"spark.executor.extraJavaOptions" in shown["shown/ui-4.txt"]
    logs = [text for name, text in shown.items() if name.endswith("/stderr")]
    assert len(logs) == cluster.executors
    assert all(b"DEBUG " in log for log in logs)


SECRETS = [TOKEN.encode(), PASSWORD.encode(), *STATIC.values(), *masters(3).values()]


def test_no_secret_and_no_key_that_the_driver_hands_out_is_shown(cluster: Cluster) -> None:
    assert places(cluster.shown(), SECRETS) == []
    handed_out = data_keys(cluster.places.data / "few", masters(3))
    # Four key-encryption keys, and four data keys in each of four files.
    assert len(handed_out) == 4 + 4 * 4
    assert places(cluster.shown(), handed_out) == []


@pytest.mark.nightly
def test_nor_is_one_where_rpc_is_encrypted(protected: Cluster) -> None:
    assert places(protected.shown(), SECRETS) == []
