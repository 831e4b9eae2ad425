"""The doctor checks executors in processes of their own, and reports a duplicate jar and unencrypted RPC."""

from __future__ import annotations

import pytest

import pme_parquet as pme
from tests.doctor.cluster_job import COPY, Result, Seen
from tests.support.kms.cluster_places import TOKEN, Places, start, static_keys
from tests.support.processes import to_json
from tests.support.session import PASSWORD, PASSWORD_VARIABLE
from tests.support.shown import assert_each_says_what_to_do, named, not_ok

pytestmark = [pytest.mark.slow, pytest.mark.nightly]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """Return the results for each session."""
    places = Places(tmp_path_factory.mktemp("doctor"))
    places.make()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PASSWORD_VARIABLE, PASSWORD)
        places.keystore().create(["footer"])
    return start("tests.doctor.cluster_job", Result, places).sessions


@pytest.fixture
def doubtful(seen: dict[str, Seen]) -> pme.Diagnosis:
    return seen["doubtful"].diagnosis


def test_every_line_that_is_not_ok_says_what_to_do(seen: dict[str, Seen]) -> None:
    for one in seen.values():
        assert_each_says_what_to_do(one.diagnosis)


def test_only_real_problems_are_reported(doubtful: pme.Diagnosis) -> None:
    assert set(not_ok(doubtful)) == {"connector", "parquet-column", "RPC", "spill"}


def test_a_connector_loaded_twice_is_a_problem(doubtful: pme.Diagnosis) -> None:
    check = named(doubtful, "connector")
    assert check.status == "problem"
    assert f"from {pme.jar_path()}; also on the class path: " in check.found
    assert check.found.endswith(COPY)
    assert "Keep one: check spark.jars" in check.remedy


def test_another_parquet_on_the_class_path_is_a_problem(doubtful: pme.Diagnosis) -> None:
    check = named(doubtful, "parquet-column")
    assert check.status == "problem"
    assert check.found.endswith(f"{COPY} (1.10.1)")


def test_unencrypted_rpc_is_a_warning(doubtful: pme.Diagnosis) -> None:
    assert named(doubtful, "RPC").status == "warning"
    assert "spark.network.crypto.enabled=true" in named(doubtful, "RPC").remedy
    assert "spark.io.encryption.enabled=true" in named(doubtful, "spill").remedy


def test_every_executor_is_compared_with_the_driver(doubtful: pme.Diagnosis) -> None:
    assert named(doubtful, "executors").found.startswith("2 of 2 answered")
    executors = [check for check in doubtful.checks if check.name.startswith("executor ")]
    assert len(executors) == 2
    for check in executors:
        assert check.found.startswith("the same as the driver: Java ")


def test_aes_is_measured_on_one_executor(doubtful: pme.Diagnosis) -> None:
    [speed] = [check for check in doubtful.checks if check.name.startswith("AES speed on executor ")]
    assert "GB/s" in speed.found


def test_executors_get_keys_from_the_driver_or_from_the_kms(seen: dict[str, Seen]) -> None:
    for name, way in (("doubtful", "through the driver"), ("executors ask", "by itself")):
        check = named(seen[name].diagnosis, "key 'footer' from executor")
        assert (check.status, check.found.split(", ")[0]) == ("ok", way)


def test_executors_without_the_connector_are_a_problem(seen: dict[str, Seen]) -> None:
    diagnosis = seen["without jars"].diagnosis
    check = named(diagnosis, "executors")
    assert (check.status, check.found) == (
        "problem",
        "they do not have the connector, or have another one than the driver",
    )
    assert "spark.jars or --jars" in check.remedy
    assert named(diagnosis, "key 'footer' from driver").status == "ok"
    assert named(diagnosis, "KMS from an executor").found == "not checked, because no executor works"


def test_encrypted_rpc_is_ok(seen: dict[str, Seen]) -> None:
    assert named(seen["without jars"].diagnosis, "RPC").found == "encrypted and authenticated"


def test_no_secret_is_shown(seen: dict[str, Seen]) -> None:
    for secret in (PASSWORD, TOKEN, *static_keys().split()):
        assert secret not in to_json(Result(seen))
