"""The section of a report about snapshots, without keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.report.pages import Page, assert_self_contained
from tests.support.files.handmade import HMAC, chain, content, digest, encrypted, index, indexed, manifest, put

if TYPE_CHECKING:
    from pathlib import Path

FILE = encrypted(b"footer")
HOSTILE = "</p><script>alert(1)</script>\x1b[31m"


def report(root: Path) -> Page:
    page = Page(pme.report(root / "all", root / "report.html"))
    assert_self_contained(page)
    return page


def table(root: Path, *files: str) -> Path:
    """Make the files of a table, and return the directory of its snapshots."""
    for file in files:
        (root / "all" / file).parent.mkdir(parents=True, exist_ok=True)
        (root / "all" / file).write_bytes(FILE)
    return root / "all" / "_pme_snapshots"


def summary(page: Page) -> list[str]:
    return [item for item in page.items if "snapshot" in item.lower() or "index" in item]


def test_a_table_without_a_snapshot_is_named_as_such(tmp_path: Path) -> None:
    table(tmp_path, "a.parquet")
    page = report(tmp_path)
    assert summary(page) == [
        "• Note The table has no snapshot. Files that are added, removed or put back are not noticed. Snapshots"
    ]
    assert "This table has no snapshot. Nobody notices if a file of it is added" in page.text
    assert "Snapshots in other directories (snapshotLocation) were not looked for." in page.text


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Return the report of a signed table, one with an HMAC, one without encryption, one damaged, two without any."""
    root = tmp_path_factory.mktemp("several")
    for name in ("hmac", "none", "other", "plain", "signed", "cut"):
        table(root, f"{name}/a.parquet", f"{name}/b.parquet")
    size: dict[str, Any] = {"bytes": 2 * len(FILE)}
    first = manifest(content(**size, **indexed(index("address", "zip", key="pii"))), HMAC)
    put(root / "all/hmac/_pme_snapshots", 1, first)
    indexes = indexed(
        index("address", "zip", kind="bloom", key="stats", parameters={"fpp": "0.01"}),
        index("n", field="index_1", key=None),
        index("city", field="index_2"),
    )
    before = manifest(content(**size))
    put(root / "all/signed/_pme_snapshots", 1, before)
    put(root / "all/signed/_pme_snapshots", 2, manifest(content(2, digest(before), **size, **indexes)))
    policy = {"footerKey": None, "columns": [{"column": ["n"], "key": None}]}
    plain = content(policy=policy, partitionColumns=[], **size, **indexed(index("n", key=None)))
    put(root / "all/plain/_pme_snapshots", 1, manifest(plain))
    put(root / "all/cut/_pme_snapshots", 1, b"")
    return report(root)


def test_the_summary_says_what_was_not_checked_and_never_good(several: Page) -> None:
    assert summary(several) == [
        (
            "! Attention 2 indexes are under other keys than their columns: bloom of address.zip, minMax of n (not "
            "encrypted). Whoever may use such a key learns about the values, but cannot read the column. Snapshots"
        ),
        (
            "? Not known 3 snapshots with a seal that inspection does not check: hmac (version 1, HMAC-SHA256), plain "
            "(version 1, Ed25519), signed (version 2, Ed25519). Snapshots"
        ),
        "• Note No snapshot: none, other. Files that are added, removed or put back are not noticed. Snapshots",
        "Manifests of snapshots. Names of columns and keys, numbers of rows, and what the section Snapshots lists.",
        "Columns with an index, their types and the index's parameters: address.zip, n, city.",
        "Whether the table and its snapshots were put back: only readers who know a newer version notice that.",
    ]
    assert not any(item.startswith("✓") for item in several.items)
    assert "No seal was checked of: hmac, plain, signed." in several.text
    assert "Verification checked the seal" not in several.text


def test_tables_without_a_readable_snapshot_are_listed(several: Page) -> None:
    assert "Without a snapshot: none, other. Nobody notices if a file of these tables is added" in several.text
    assert "The newest snapshot of cut cannot be read, and readers refuse the table." in several.text
    assert several.table("Findings").rows[1][:3] == ["cut/_pme_snapshots", "", "PME_SNAPSHOT_DAMAGED"]
    assert several.table("Findings").rows[1][3].startswith("snapshot-0000000001.json: the snapshot is damaged")


def test_each_newest_snapshot_says_who_can_forge_its_seal(several: Page) -> None:
    rows = several.table("Newest snapshots")
    hmac, signed, plain = (rows.row(name) for name in ("hmac", "signed", "plain"))
    assert (hmac["Seal"], hmac["Who can forge it"]) == (
        "HMAC: HMAC-SHA256, key footer",
        "holders of master key footer, which includes all readers",
    )
    assert [signed[name] for name in ("Version", "Created (UTC)", "By", "Files", "Rows", "Seal")] == [
        *("2", "2026-11-24 01:02", "ada", "2", "1,000", "signature: Ed25519, key signer"),
    ]
    assert signed["Who can forge it"] == (
        "holders of signing key signer. Readers without verifyKey also accept an HMAC by holders of master key footer"
    )
    assert plain["Who can forge it"] == "holders of signing key signer"


def test_an_index_under_another_key_than_its_column_is_marked(several: Page) -> None:
    assert several.table("Indexes of the newest snapshots").rows[1:] == [
        ["hmac", "address.zip", "minMax", "", "pii", "the same key"],
        ["plain", "n", "minMax", "", "not encrypted", "the table is not encrypted"],
        ["signed", "address.zip", "bloom", "fpp=0.01", "stats", "another key: the column is under pii"],
        ["signed", "n", "minMax", "", "not encrypted", "anyone can read it: the column is under footer"],
        ["signed", "city", "minMax", "", "footer", "the column is not encrypted"],
    ]


def test_what_manifests_show_to_anyone_is_listed(several: Page) -> None:
    start = several.items.index("Partition columns: day.")
    assert several.items[start - 1 : start + 4] == [
        (
            "Names of columns, each with its master key: address.zip, n, city. Encrypted footers hide these names, but "
            "manifests do not."
        ),
        "Partition columns: day.",
        "Columns with an index, their types and the index's parameters: address.zip, n, city.",
        "The first and the last file of each of 3 parts of the lists, and the sizes of all parts.",
        "Numbers of files, rows and bytes; paths of tables; who sealed them, when, and with which program and key.",
    ]


def test_files_that_differ_from_the_newest_snapshot_are_a_finding(tmp_path: Path) -> None:
    chain(table(tmp_path, "a.parquet"), 1)
    [row] = report(tmp_path).table("Findings").rows[1:]
    assert (row[0], row[2]) == ("_pme_snapshots", "PME_SNAPSHOT_MISMATCH")
    assert row[3].startswith("version 1 lists 2 files of 123,456 bytes, but the table has 1 file of 79 bytes.")


def test_a_report_of_one_file_says_where_to_look(tmp_path: Path) -> None:
    table(tmp_path, "a.parquet")
    page = Page(pme.report(tmp_path / "all/a.parquet", tmp_path / "report.html"))
    assert "A single file has no snapshot. The report of its table shows whether the table has one." in page.text


def test_names_in_manifests_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    stated = content(creator=HOSTILE, partitionColumns=[HOSTILE], **indexed(index(HOSTILE, key=HOSTILE)))
    seal = {"algorithm": "Ed25519", "key": HOSTILE, "value": "A" * 86 + "=="}
    put(table(tmp_path, "a.parquet"), 1, manifest(stated, seal))
    page = report(tmp_path)
    assert "\x1b" not in page.source
    assert "<script>alert(1)" in page.text
