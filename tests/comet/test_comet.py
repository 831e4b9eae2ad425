"""Comet's plugin in a session: our format's results and checks, and Spark's own `parquet` with our crypto factory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.comet import comet_job
from tests.support import needs
from tests.support.processes import result_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.slow,
    # Comet has 70 MB.
    needs.test_all,
    needs.comet,
    pytest.mark.oldest,
]

OURS = "FileScan pme-parquet"
NATIVE = {
    "auto": "CometScan [native_iceberg_compat]",
    "native_comet": "CometScan [native_comet]",
    "native_iceberg_compat": "CometScan [native_iceberg_compat]",
    "native_datafusion": "CometNativeScan",
}
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


def queries(result: comet_job.Result, convert: str) -> Iterator[tuple[str, comet_job.Compared]]:
    return ((name, result.queries[f"{name} {convert}"]) for name in comet_job.QUERIES)


def test_queries_return_the_same_with_comet_and_our_scan_stays(result: comet_job.Result) -> None:
    for name, found in queries(result, "false"):
        assert found.is_same, (name, found)
        assert found.rows > 0, name
        assert (OURS in found.with_comet, found.without) == (True, [OURS]), name
        assert not any("SparkColumnarToColumnar" in part for part in found.with_comet), name
    # The plugin takes part.
    assert any("Comet" in part for part in result.queries["aggregate false"].with_comet)


def test_comet_s_conversion_counts_rows_without_columns_as_none(result: comet_job.Result) -> None:
    """A fault of Comet 0.12, also above Spark's own scan: the documents say to leave the conversion off."""
    for name, found in queries(result, "true"):
        assert OURS in found.with_comet, name
        assert any("SparkColumnarToColumnar" in part for part in found.with_comet) or name in {"all", "filter"}, name
        assert found.is_same == (name != "count"), (name, found)


@pytest.mark.parametrize("scan", ["ours", *NATIVE, "off"])
def test_files_that_our_checks_refuse_are_refused(result: comet_job.Result, scan: str) -> None:
    for case, condition in REFUSED.items():
        assert result.reads[f"{scan} {case}"].outcome.condition == condition, case
    # Natively, the error is that of Comet or of Arrow.
    altered = result.reads[f"{scan} bent"].outcome
    assert altered.condition, altered
    assert (altered.condition == "PME_NOT_AUTHENTIC") == (scan == "ours")


@pytest.mark.parametrize("scan", ["ours", *NATIVE, "off"])
def test_files_that_our_checks_admit_are_read(result: comet_job.Result, scan: str) -> None:
    for case in ("right", "bound right", "prefix"):
        read = result.reads[f"{scan} {case}"]
        assert read.outcome.rows == RIGHT, case
        assert {"ours": OURS, "off": "FileScan parquet"}.get(scan, NATIVE.get(scan)) in read.scans, (case, read)


def test_plaintext_files_that_are_allowed_need_a_scan_that_reads_them(result: comet_job.Result) -> None:
    for scan in ("ours", "native_comet", "off"):
        assert result.reads[f"{scan} plain allowed"].outcome.rows == RIGHT, scan
    # Comet asks for keys of each file, and fails where there are none.
    for scan in ("auto", "native_iceberg_compat", "native_datafusion"):
        assert "NullPointerException" in result.reads[f"{scan} plain allowed"].outcome.message, scan
