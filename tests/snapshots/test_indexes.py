"""`pme.describe_index`: which indexes it lists, under which keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.files.handmade import chain, content, index, indexed, manifest, put

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "people" / "_pme_snapshots"


def test_indexes_are_listed_with_their_keys_and_parameters(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    bloom = index("n", field="index_7", kind="bloom", key="stats", parameters={"ndv": "9", "fpp": "0.01"})
    put(directory, 1, manifest(content(**indexed(index("address", "zip", key="pii"), bloom))))
    found = pme.describe_index(directory.parent)
    assert list(found) == [
        pme.Index(("address", "zip"), "minMax", "index_0", "optional int64 zip", "pii", {}),
        pme.Index(("n",), "bloom", "index_7", "optional int64 n", "stats", {"fpp": "0.01", "ndv": "9"}),
    ]
    assert (found.version, len(found), found[-1]) == (1, 2, found.indexes[1])
    assert json.loads(json.dumps(found.to_dict()))["indexes"][1]["parameters"] == {"fpp": "0.01", "ndv": "9"}
    assert str(found).splitlines() == [
        f"{directory.parent}: version 1 has 2 indexes",
        "",
        "  column       kind    parameters       type                key",
        "  address.zip  minMax                   optional int64 zip  pii",
        "  n            bloom   fpp=0.01, ndv=9  optional int64 n    stats",
    ]


def test_a_table_in_plaintext_has_indexes_without_keys(directory: Path) -> None:
    policy = {"footerKey": None, "columns": [{"column": ["id"], "key": None}]}
    put(directory, 1, manifest(content(policy=policy, **indexed(index("id", key=None)))))
    [found] = pme.describe_index(directory.parent)
    assert found.key is None
    assert "not encrypted" in str(pme.describe_index(directory.parent))


def test_the_newest_version_counts_and_no_older_one_takes_its_place(directory: Path) -> None:
    first, _ = chain(directory, 2)
    assert pme.describe_index(directory.parent).version == 2
    put(directory, 2, first)
    with pytest.raises(pme.SnapshotDamagedError, match="its name and its content, version 1, differ"):
        pme.describe_index(directory.parent)
    put(directory, 2, manifest(content(formatVersion=5)))
    with pytest.raises(pme.UnsupportedError, match="format 5 of snapshots"):
        pme.describe_index(directory.parent)


def test_a_table_that_is_not_sealed_has_no_indexes(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"")
    found = pme.describe_index(tmp_path)
    assert (list(found), found.version, str(found)) == ([], None, f"{tmp_path}: no snapshots")
    with pytest.raises(pme.BadOptionError, match="there is nothing at this path"):
        pme.describe_index(tmp_path / "nowhere")


def test_snapshots_may_be_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    put(tmp_path / "lists", 1, manifest(content(**indexed())))
    found = pme.describe_index(tmp_path / "people", location=tmp_path / "lists")
    assert (found.version, list(found)) == (1, [])
    assert str(found).endswith("version 1 has no indexes")
