"""Links where copies and encryption in place keep files, and two copies to one target: nothing else is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.rekey.copies import left
from tests.rekey.places import MANIFEST, hidden, in_place, read
from tests.support.canary import data_files
from tests.support.expect import refused, snapshot, untouched
from tests.support.session import TEST_KMS
from tests.support.source import rows
from tests.support.two_at_once import Waiting, during

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ENC = pme.Encryption(kms=TEST_KMS, uniform_key="k")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Return a directory with files that must not change."""
    path = tmp_path / "elsewhere"
    (path / "inner").mkdir(parents=True)
    (path / "file").write_text("precious")
    (path / "inner" / "file").write_text("precious")
    return path


def test_the_first_finished_of_two_copies_to_one_target_wins(spark: SparkSession, plain: Path, tmp_path: Path) -> None:
    # One file, and so one task: while it waits, the other copy has a core.
    source, target = str(data_files(plain)[0]), tmp_path / "target"
    # It opens nothing that was written before: the copy is staged then.
    client = Waiting(wraps=False)
    slow = pme.Encryption(kms=pme.PythonKms(client), uniform_key="slow")

    def quick() -> None:
        [staging] = [name for name in left(tmp_path) if "pme-rekey" in name]
        staged = snapshot(tmp_path / staging)
        pme.encrypt(spark, source, str(target), ENC)
        assert snapshot(tmp_path / staging).keys() >= staged.keys()

    [failure] = during(client, lambda: pme.encrypt(spark, source, str(target), slow), quick)
    assert isinstance(failure, pme.PmeError), failure
    assert failure.condition == "PME_BAD_OPTION", failure
    assert "it is not empty" in str(failure)
    assert rows(read(spark, target)) == rows(spark.read.parquet(source))
    assert left(tmp_path) == ["plain", "target"]


def test_a_directory_that_looks_like_staging_is_left_alone(spark: SparkSession, plain: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    names = [".target.pme-rekey", ".target.pme-rekey-notes", f".target.pme-rekey-{'0' * 8}-1111-2222-3333-{'4' * 12}"]
    for name in names:
        (tmp_path / name / "running").mkdir(parents=True)
        (tmp_path / name / "file").write_text("precious")
    pme.encrypt(spark, str(plain), str(target), ENC)
    assert left(tmp_path) == [*sorted(names), "plain", "target"]
    assert all((tmp_path / name / "file").read_text() == "precious" for name in names)


def test_a_target_that_is_a_link_is_refused(spark: SparkSession, plain: Path, tmp_path: Path, elsewhere: Path) -> None:
    for number, leads_to in enumerate([elsewhere / "empty", elsewhere / "not-there"]):
        (elsewhere / "empty").mkdir(exist_ok=True)
        target = tmp_path / f"target-{number}"
        target.symlink_to(leads_to)
        with untouched(elsewhere), refused("PME_BAD_OPTION", "symbolic link"):
            pme.encrypt(spark, str(plain), str(target), ENC)
        assert target.is_symlink()


@pytest.mark.parametrize("plant", ["directory", "manifest", "dangling"])
def test_links_where_a_run_in_place_keeps_files_lead_nowhere(
    spark: SparkSession, plain: Path, elsewhere: Path, plant: str
) -> None:
    place = plain / (MANIFEST.parent if plant == "directory" else MANIFEST)
    place.parent.mkdir(exist_ok=True)
    place.symlink_to({"directory": elsewhere, "manifest": elsewhere / "file", "dangling": elsewhere / "no"}[plant])
    with untouched(elsewhere), refused("PME_UNSUPPORTED", place.name, "link"):
        in_place(spark, plain, ENC)
    assert place.is_symlink()
    place.unlink()
    assert in_place(spark, plain, ENC).failed == ()
    assert hidden(plain) == []


def test_files_behind_a_linked_directory_are_not_encrypted(spark: SparkSession, plain: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    first = min(path for path in plain.iterdir() if path.is_dir())
    first.rename(other)
    first.symlink_to(other)
    before = snapshot(other)
    with untouched(plain), refused("PME_UNSUPPORTED", first.name, "symbolic link"):
        in_place(spark, plain, ENC)
    assert snapshot(other) == before
