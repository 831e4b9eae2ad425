"""The contents of a report without keys, from files made by hand and by PyArrow."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.report.pages import Page, assert_self_contained
from tests.support.expect import refused
from tests.support.files import handmade
from tests.support.files.handmade import encrypted, material
from tests.support.kms.clients import Client
from tests.support.session import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def put(root: Path, name: str, content: bytes) -> Path:
    path = root / "table" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def report(root: Path) -> Page:
    page = Page(pme.report(root / "table", root / "report.html"))
    assert_self_contained(page)
    return page


@pytest.fixture(scope="module")
def mixed_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mixed")


@pytest.fixture(scope="module")
def mixed(mixed_root: Path) -> Page:
    """Return the report of a table of 300 different files; some are plaintext, damaged or signed."""
    for number in range(290):
        key = "pii-2024" if number % 29 == 0 else "pii"
        content = encrypted(material(key, keyEncryptionKeyID=handmade.kek_id(1 + number % 5)))
        put(mixed_root, f"country=de/day={number % 3}/part-{number:03}", content)
    own = [handmade.column(b"ssn", key=material("people"), size=70), handmade.column(b"note", size=30)]
    for number in range(5):
        put(mixed_root, f"country=fr/signed-{number}", handmade.readable(own, signed=True))
    for number in range(3):
        put(mixed_root, f"country=it/late-{number}", handmade.readable([handmade.column(b"a")]))
    put(mixed_root, "country=it/cut", b"PAR1")
    put(mixed_root, "country=it/ctr", ctr())
    return report(mixed_root)


MASTER_KEYS = (
    "? Not known 4 master keys are used: footer, pii, pii-2024, people. "
    "There may be more, because names of column keys are encrypted. Keys"
)
NOT_VERIFIED = (
    "? Not known Nothing was verified. This page shows what the files state, and anyone who can write "
    "to the storage can forge that. Run the report with Spark and the keys."
)


def ctr() -> bytes:
    return encrypted(material("pii")).replace(b"\x1c\x1c\x28\x08", b"\x1c\x2c\x28\x08", 1)


def test_the_summary_shows_what_matters(mixed: Page) -> None:
    assert "300 files, 138.3 KiB: 296 encrypted, 1 damaged or unreadable, 3 plaintext." in mixed.text
    summary = [item for item in mixed.items if item.startswith(("✓", "!", "?"))]
    assert summary == [
        "! Attention 3 files are not encrypted (114 B): anyone with access to the storage can read them.",
        "! Attention 1 file is damaged or could not be read.",
        "! Attention 5 files have readable footers: column names, row counts and sizes are not secret.",
        "! Attention 1 column is in plaintext in encrypted files: note. What is not protected",
        "! Attention Partition values are readable in directory names: country, day. What is not protected",
        "! Attention 1 file is encrypted with AES_GCM_CTR_V1: changes to data in it are not detected.",
        "! Attention Files are protected in different ways. Differences between files",
        "! Attention 4 findings visible without keys, before any page is read. Verification and findings",
        MASTER_KEYS,
        NOT_VERIFIED,
    ]


def test_each_key_has_its_row(mixed: Page) -> None:
    table = mixed.table("Master keys")
    pii = table.row("pii")
    assert pii["Files"] == "281"
    assert pii["Columns"] == pii["Size"] == "not visible"
    assert pii["Data keys"] == "wrapped twice, in the file"
    assert pii["Key lengths"] == "data keys 128 bits, 6 key-encryption keys of 256 bits"
    assert pii["Unreadable without it"] == "all of 281 files"
    people = table.row("people")
    assert (people["Protects"], people["Columns"], people["Size"]) == ("columns", "ssn", "350 B")
    assert people["Unreadable without it"] == "this column in 5 files"


def test_what_is_not_protected_is_listed_by_name(mixed: Page) -> None:
    text = mixed.text
    assert "All their content: country=it/late-0, country=it/late-1, country=it/late-2." in text
    assert "Their values and statistics: note." in text
    assert "are part of paths, readable and not authenticated: country (3 values); day (3 values)." in text
    assert "Readable footers of 5 files" in text


def test_each_finding_is_listed_with_what_to_do(mixed: Page) -> None:
    rows = mixed.table("Findings").rows[1:]
    assert [row[0] for row in rows] == ["country=it/cut", *(f"country=it/late-{number}" for number in range(3))]
    assert [row[2] for row in rows] == ["PME_DAMAGED_FILE", *["PME_PLAINTEXT_FILE"] * 3]
    assert rows[1][3] == "the file is not encrypted, but 296 of the table are. Find out who wrote it."
    counts = mixed.table("Findings by condition")
    assert counts.row("PME_PLAINTEXT_FILE")["Findings"] == "3"


def test_drift_and_groups_are_those_of_inspect(mixed: Page, mixed_root: Path) -> None:
    seen = pme.inspect(mixed_root / "table")
    assert set(seen.drift) <= set(mixed.items)
    groups = mixed.table("Files by what is visible without keys").rows[1:]
    assert [(row[0], row[1]) for row in groups] == [(g.example.file, f"{g.files:,}") for g in seen.groups]


def test_what_is_not_known_is_stated(mixed: Page) -> None:
    assert "Inspection proves nothing" in mixed.text
    assert "Columns of 291 files with encrypted footers: their names, their keys" in mixed.text
    assert "no KMS was called" in mixed.text


def test_long_tables_are_cut_and_counts_are_not(tmp_path: Path) -> None:
    put(tmp_path, "one", encrypted(b"footer"))
    for number in range(300):
        put(tmp_path, f"late-{number:03}", handmade.readable([handmade.column(b"a")]))
    page = report(tmp_path)
    assert len(page.table("Findings").rows) == 1 + 20
    assert "and 280 more (300 in all)" in page.text
    assert page.table("Findings by condition").row("PME_PLAINTEXT_FILE")["Findings"] == "300"
    assert "301 files" in page.text


HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;\x1b[31m\u202e"


def test_names_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    file = HOSTILE.replace("/", "\u2215")
    put(tmp_path, f"x=<b>/{file}", encrypted(material(HOSTILE)))
    column = handmade.column(HOSTILE.encode(), key=material(HOSTILE + "2"))
    prefix = handmade.gcm(prefix=HOSTILE.encode())
    put(tmp_path, "y", handmade.readable([column, handmade.column(b"<script>")], signed=True))
    put(tmp_path, "z", encrypted(HOSTILE[:12].encode(), algorithm=prefix))
    put(tmp_path, "<i>cut", b"PAR1")
    page = report(tmp_path)
    assert "<script>alert(1)" in page.text
    for hidden in ("\x1b", "\u202e"):
        assert hidden not in page.source
    assert "\\x1b[31m\\u202e" in page.text
    assert "Their values and statistics: `<script>`." in page.text


def test_a_table_without_files_is_not_called_good(tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    page = report(tmp_path)
    assert "The table has no files." in page.text
    assert not any(item.startswith("✓") for item in page.items)


def test_a_plaintext_table_is_not_called_good(tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    pq.write_table(pa.table({"id": [1, 2, 3]}), tmp_path / "table" / "a.parquet")
    page = report(tmp_path)
    assert "1 file is not encrypted" in page.text
    assert not any(item.startswith("✓") for item in page.items)
    assert "The files name no keys." in page.text


def test_it_is_the_same_page_for_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(9):
        put(tmp_path, f"a={number}/x", encrypted(material(f"k{number}")))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    page = report(tmp_path)
    assert any("whether every column is encrypted is not visible without keys" in item for item in page.items)
    assert "2026-09-21 at 14:13:20 UTC" in page.source
    assert report(tmp_path).source == page.source
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert report(tmp_path).source != page.source


def test_each_of_many_keys_has_its_row(tmp_path: Path) -> None:
    columns = [handmade.column(b"c%d" % number, key=material(f"key-{number:02}")) for number in range(40)]
    put(tmp_path, "a", handmade.readable(columns, signed=True))
    page = report(tmp_path)
    assert "41 master keys are used" in page.text
    assert len(page.table("Master keys").rows) == 1 + 41


def test_key_settings_without_spark_are_refused(tmp_path: Path) -> None:
    put(tmp_path, "a", encrypted(b"footer"))
    settings: list[dict[str, Any]] = [{"options": {}}, {"sample": pme.Sample()}, {"kms": pme.PythonKms(Client())}]
    for given in settings:
        with refused("PME_BAD_OPTION", "without spark"):
            pme.report(tmp_path / "table", tmp_path / "r.html", **given)
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize("pinned", ["yesterday", "9" * 15])
def test_an_invalid_time_of_creation_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: str) -> None:
    put(tmp_path, "a", encrypted(b"footer"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", pinned)
    with refused("PME_BAD_OPTION", "SOURCE_DATE_EPOCH"):
        report(tmp_path)


def test_importing_the_package_imports_no_part_of_it() -> None:
    code = "import sys, pme_parquet; print([m for m in sys.modules if m.startswith('pme_parquet._report.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
