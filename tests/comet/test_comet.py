"""Comet's plugin in a session: our format's results and checks, and Spark's own `parquet` with our crypto factory."""

from __future__ import annotations

import pytest

from tests.comet import comet_job
from tests.support import needs
from tests.support.metastore import Outcome
from tests.support.processes import result_of

pytestmark = [
    pytest.mark.slow,
    # Comet has 100 MB.
    needs.test_all,
    needs.comet,
]

OURS = "FileScan pme-parquet"
SCANS = {"ours": OURS, "comet": "CometNativeScan", "off": "FileScan parquet"}
REFUSED = {
    "bound other": "PME_KEY_METADATA",
    "other prefix": "PME_AAD_PREFIX",
    "ctr": "PME_ALGORITHM",
    "wrong key": "PME_NOT_AUTHENTIC",
    "plain": "PME_PLAINTEXT_FILE",
}
RIGHT = ["(2428537.5, 1603)"]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> comet_job.Result:
    return result_of(comet_job, comet_job.Result, str(tmp_path_factory.mktemp("comet")), patience=600)


def test_queries_return_the_same_with_comet_and_our_scan_stays(result: comet_job.Result) -> None:
    for name, found in result.queries.items():
        assert found.is_same, (name, found)
        assert found.rows > 0, name
        assert OURS in found.with_comet, name
    # The plugin takes part.
    assert any("Comet" in part for part in result.queries["beside"].with_comet)


def test_scans_that_comet_converts_are_refused(result: comet_job.Result) -> None:
    for name, found in result.converted.items():
        # Comet leaves the scan as it is for lack of a type.
        if name in {"all", "filter"}:
            assert found.rows, name
        else:
            assert found.condition == "PME_UNSUPPORTED", (name, found)
            assert "CometSparkToColumnarExec" in found.message, name


@pytest.mark.parametrize("scan", list(SCANS))
def test_files_that_our_checks_refuse_are_refused(result: comet_job.Result, scan: str) -> None:
    for case, condition in REFUSED.items():
        assert result.reads[f"{scan} {case}"].outcome.condition == condition, case
    # Natively, the error is that of Comet or of Arrow.
    altered = result.reads[f"{scan} bent"].outcome
    assert altered.condition, altered
    assert (altered.condition == "PME_NOT_AUTHENTIC") == (scan == "ours")


@pytest.mark.parametrize("scan", list(SCANS))
def test_files_that_our_checks_admit_are_read(result: comet_job.Result, scan: str) -> None:
    for case in ("right", "bound right", "prefix"):
        read = result.reads[f"{scan} {case}"]
        assert read.outcome.rows == RIGHT, case
        assert SCANS[scan] in read.scans, (case, read)


def test_plaintext_files_that_are_allowed_need_a_scan_that_reads_them(result: comet_job.Result) -> None:
    for scan in ("ours", "off"):
        assert result.reads[f"{scan} plain allowed"].outcome.rows == RIGHT, scan
    # Comet asks for keys of each file, and fails where there are none.
    assert "NullPointerException" in result.reads["comet plain allowed"].outcome.message


def test_a_write_that_comet_would_make_is_refused(result: comet_job.Result) -> None:
    """Comet takes our format for Parquet, and has no encryption."""
    assert result.writes["comet plain"] == comet_job.Written(Outcome([]), is_readable=True)
    for name in ("ours", "factory"):
        found = result.writes[f"comet {name}"]
        assert (found.outcome.condition, found.is_readable) == ("PME_UNSUPPORTED", False), name
        assert "CometWriteFilesExec" in found.outcome.message, name


@pytest.mark.parametrize("write", ["comet orc", "spark orc", "spark ours", "spark factory"])
def test_a_write_that_spark_makes_is_encrypted(result: comet_job.Result, write: str) -> None:
    assert result.writes[write] == comet_job.Written(Outcome([]), is_readable=False)
