"""Which differences from a page count, and which do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.masks import same

HERE = Path("/scratch/reader")


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("2 files, 7.4 KiB", "2 files, 7.5 KiB"),
        ("done in 1.2 s", "done in 13 s"),
        ("footers: 12 modules, 3801 bytes", "footers: 12 modules, 3,799 bytes"),
        ("parquet-mr version 1.17.0", "parquet-mr version 1.16.0"),
        ("sealed at 2026-11-24 01:02", "sealed at 2027-01-31 23:59"),
        ("wrapped by cHmA1bQ1i+LhGFVPeqE8rQ==", "wrapped by pghTcKwXlvo5wfBSa68WMw=="),
        ("in /home/ada/people", "in /scratch/reader/people"),
        ("a   b\n---- --", "a b\n---- --"),
        ("file      size\n1.0 KiB", "file size\n10.0 KiB"),
        ("+----+\n|size|", "+-------+\n|size|"),
        ("first\n…\nlast", "first\nsecond\nthird\nlast"),
        ("first\n…\nlast", "first\nlast"),
        ("from … to", "from here to"),
        (
            "part-00001-a4830815-26af-40c0-a310-c86df80c9881-c000.snappy.parquet: cut",
            "part-00000-7bd3f998-223f-49d4-b88c-ab98d00bed00-c000.snappy.parquet: cut",
        ),
    ],
)
def test_values_that_vary_between_runs_count_as_the_same(shown: str, printed: str) -> None:
    assert same(shown, f"{printed}\n", HERE)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("2 files", "3 files"),
        ("footer: key 'pii'", "footer: key 'footer'"),
        ("2 files, 7.4 KiB", "2 files"),
        ("first\nlast", "first\nsecond\nlast"),
        ("first\n…\nlast", "second\nlast"),
        ("30 modules opened", "29 modules opened"),
        ("", "a warning"),
        ("a [b]", "a b"),
    ],
)
def test_other_differences_are_found(shown: str, printed: str) -> None:
    assert not same(shown, f"{printed}\n", HERE)
