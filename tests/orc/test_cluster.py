"""Executors in processes of their own: the driver alone calls the KMS, and no key is shown anywhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.orc import cluster_job
from tests.support import encrypted_orc as orc
from tests.support.canary import files_under
from tests.support.expect import DONE
from tests.support.files.key_material import spellings
from tests.support.interop.arrow_files import LocalKms, master_key
from tests.support.kms.counting import Log
from tests.support.processes import result_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

WRAPPING = {orc.PII: "w-pii", orc.PAY: "w-pay"}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("orc-cluster")


@pytest.fixture(scope="module")
def result(work: Path) -> cluster_job.Result:
    texts = [
        json.dumps(
            {
                "type": "ORCMK1",
                "key": name,
                "kmsKey": wrapping,
                "wrapped": LocalKms().wrap_key(orc.MASTERS[name, 0], wrapping),
            }
        )
        for name, wrapping in WRAPPING.items()
    ]
    (work / "masters.txt").write_text("\n".join(texts))
    return result_of(cluster_job, cluster_job.Result, str(work))


def test_the_driver_alone_calls_the_kms_once_for_each_key(work: Path, result: cluster_job.Result) -> None:
    steps = ["write-wrapped", "read-wrapped", "write-material", "read-material"]
    assert result.done == dict.fromkeys(steps, DONE) | {"denied": "PME_KEY_DENIED"}
    assert result.executors == cluster_job.EXECUTORS
    once = dict.fromkeys(WRAPPING, 1)
    wrapped = dict.fromkeys(WRAPPING.values(), 1)
    calls = {name: Log(work / f"{name}.log") for name in steps}
    assert [calls[name].count("unwrap") for name in steps] == [wrapped, wrapped, {}, once]
    assert [calls[name].count("wrap") for name in steps] == [{}, {}, once, {}]
    for log in (*calls.values(), Log(work / "denied.log")):
        assert {call.executor for call in log.calls()} == {"driver"}
        assert len({call.pid for call in log.calls()}) == 1
    for table in ("wrapped", "material"):
        assert len(orc.files(work / "data" / table)) == cluster_job.FILES


def test_no_key_is_in_a_plan_log_or_event_log(work: Path, result: cluster_job.Result) -> None:
    assert result.done
    shown = {str(path.relative_to(work)): path.read_bytes() for path in files_under(work / "shown")}
    assert b"SparkListenerSQLExecutionStart" in b"".join(content for name, content in shown.items() if "events" in name)
    assert b"DEBUG " in shown["shown/driver.log"]
    assert b"PmeOrc" in shown["shown/texts.txt"]
    masters = [*orc.MASTERS.values(), *(master_key(name) for name in (*WRAPPING, *WRAPPING.values()))]
    found = [
        (name, spelling)
        for name, content in shown.items()
        for key in masters
        for spelling, raw in spellings(key).items()
        if raw in content
    ]
    assert found == []
