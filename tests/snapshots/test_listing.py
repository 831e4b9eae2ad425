"""`pme.snapshots`: which versions it lists, and what it finds wrong between them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from fsspec import register_implementation
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry

import pme_parquet as pme
from pme_parquet.errors import BY_CONDITION
from tests.support.files.handmade import INDEX, PART, chain, content, digest, index, manifest, part, put
from tests.support.shown import on_screen

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMATS = Path(__file__).parents[1] / "data" / "formats"
HOSTILE = "k\x1b[2J\x1b]0;t\x07\u202e\n<script>alert(1)</script>[red]&[/red]"


class Stored(MemoryFileSystem):  # type: ignore[misc] # fsspec has no types
    """An object store in memory, with a scheme of its own."""

    protocol = "sealed"
    store: dict[str, Any] = {}  # noqa: RUF012 as its parent
    pseudo_dirs: list[str] = [""]  # noqa: RUF012 as above

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.split("://", 1)[-1].strip("/")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "people" / "_pme_snapshots"


@pytest.fixture
def stored() -> Iterator[Stored]:
    register_implementation("sealed", Stored, clobber=True)
    yield Stored()
    Stored.store.clear()
    Stored.pseudo_dirs[:] = [""]
    _registry.pop("sealed")
    Stored.clear_instance_cache()


def problems(directory: Path) -> list[str]:
    """Return the problems of a table, each of which begins with a condition."""
    found = pme.snapshots(directory.parent).problems
    for problem in found:
        assert problem[1:].partition("]")[0] in BY_CONDITION
    return [problem.partition("] ")[2] for problem in found]


def test_versions_are_listed_the_oldest_first(directory: Path) -> None:
    manifests = chain(directory, 3)
    found = pme.snapshots(directory.parent)
    assert [version.version for version in found] == [1, 2, 3]
    assert [version.digest for version in found] == list(map(digest, manifests))
    assert [version.previous for version in found] == [None, *map(digest, manifests[:-1])]
    assert (len(found), found[-1], found[:2]) == (3, found.versions[2], found.versions[:2])
    assert (found.problems, found.path, found.location) == ((), str(directory.parent), str(directory))


def test_a_table_without_snapshots_is_empty_and_not_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"")
    found = pme.snapshots(tmp_path)
    assert (list(found), found.problems, bool(found)) == ([], (), False)
    assert str(found) == f"{tmp_path}: no snapshots"


def test_a_path_with_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(pme.BadOptionError, match="nowhere: there is nothing at this path"):
        pme.snapshots(tmp_path / "nowhere")
    (tmp_path / "people").mkdir()
    with pytest.raises(pme.BadOptionError, match="elsewhere: there is nothing at this path"):
        pme.snapshots(tmp_path / "people", location=tmp_path / "elsewhere")
    with pytest.raises(pme.BadOptionError, match=r"pme\.snapshots\(location\): a path cannot be a int"):
        pme.snapshots(tmp_path, location=5)  # type: ignore[arg-type]


def test_the_directory_of_snapshots_may_be_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    chain(tmp_path / "lists" / "people", 2)
    found = pme.snapshots(tmp_path / "people", location=tmp_path / "lists" / "people")
    assert (len(found), found.location) == (2, str(tmp_path / "lists" / "people"))
    assert len(pme.snapshots(tmp_path / "people")) == 0


def test_other_files_are_not_versions(directory: Path) -> None:
    [first] = chain(directory, 1)
    for name in ("snapshot-1.json", "snapshot-00000000001.json", ".pme-snapshot-0000000002.json", "notes.txt"):
        (directory / name).write_bytes(first)
    (directory / "old").mkdir()
    (directory / "old" / "snapshot-0000000002.json").write_bytes(first)
    found = pme.snapshots(directory.parent)
    assert (len(found), found.problems) == (1, ())


def test_a_damaged_version_is_a_problem_and_the_others_are_listed(directory: Path) -> None:
    manifests = chain(directory, 3)
    put(directory, 2, manifests[1][:-1])
    found = pme.snapshots(directory.parent)
    assert [version.version for version in found] == [1, 3]
    damaged, broken = problems(directory)
    assert damaged == (
        "snapshot-0000000002.json: the snapshot is damaged: it does not have exactly two lines, each with a line break "
        "at its end. Restore the file."
    )
    assert broken == (
        "snapshot-0000000003.json: the chain of versions is broken: version 2 is not the file that this version names "
        "as the one before it. Find out which of the two was replaced, and restore it."
    )


def test_a_name_that_differs_from_the_content_is_a_problem(directory: Path) -> None:
    first, _ = chain(directory, 2)
    put(directory, 2, first)
    [problem] = problems(directory)
    assert "its name and its content, version 1, differ" in problem


def test_a_replaced_version_breaks_the_chain(directory: Path) -> None:
    chain(directory, 3)
    put(directory, 1, manifest(content(creator="mallory")))
    [problem] = problems(directory)
    assert problem.startswith("snapshot-0000000002.json: the chain of versions is broken: version 1 is not the file")


def test_missing_versions_between_others_are_a_problem(directory: Path) -> None:
    chain(directory, 7)
    for version in (2, 3, 5):
        (directory / f"snapshot-{version:010}.json").unlink()
    assert problems(directory) == [
        "versions 2 to 3 are missing: an earlier and a later one exist. Find out who deleted them, or restore them.",
        "version 5 is missing: an earlier and a later one exist. Find out who deleted them, or restore them.",
    ]


def test_the_oldest_versions_may_be_missing(directory: Path) -> None:
    chain(directory, 4)
    for version in (1, 2):
        (directory / f"snapshot-{version:010}.json").unlink()
    assert problems(directory) == []
    assert [version.version for version in pme.snapshots(directory.parent)] == [3, 4]


def test_the_highest_number_is_answered_at_once(directory: Path) -> None:
    chain(directory, 1)
    put(directory, 9_999_999_999, manifest(content(9_999_999_999, "ab" * 32)))
    [problem] = problems(directory)
    assert problem.startswith("versions 2 to 9999999998 are missing")


def test_a_version_of_another_table_is_a_problem(directory: Path) -> None:
    [first] = chain(directory, 1)
    put(directory, 2, manifest(content(2, digest(first), table="ffffffff-7d1a-4a9e-9d0c-5f0c8d1f2a3b")))
    [problem] = problems(directory)
    assert "belongs to another table" in problem


def test_a_missing_part_and_one_of_another_length_are_problems(directory: Path) -> None:
    chain(directory, 1)
    (directory / PART).write_bytes(b"")
    [problem] = problems(directory)
    assert f"its list of files is incomplete: {PART} is 0 bytes long instead of 11" in problem
    (directory / PART).unlink()
    [problem] = problems(directory)
    assert f"{PART} is missing" in problem
    (directory / PART).write_bytes(bytes(11))
    (directory / INDEX).write_bytes(b"")
    [problem] = problems(directory)
    assert problem == (
        f"snapshot-0000000001.json: an index is incomplete: {INDEX} is 0 bytes long instead of 7. Reads skip fewer "
        "files by it, and are correct. Restore that file, or drop the index with pme.drop_index and make it again."
    )
    (directory / INDEX).unlink()
    [problem] = problems(directory)
    assert f"an index is incomplete: {INDEX} is missing" in problem


def test_an_older_version_whose_files_are_all_gone_was_overwritten(directory: Path) -> None:
    other, gone = PART.replace("1.parquet", "3.parquet"), PART.replace("1.parquet", "4.parquet")
    listed = [part(name=other, indexes=[]), part(name=gone, indexes=[], first="e", last="f")]
    [first] = chain(directory, 1, parts=listed, indexes=[], files=4)
    second = manifest(content(2, digest(first)))
    put(directory, 2, second)
    assert problems(directory) == []
    (directory / other).write_bytes(bytes(11))
    [problem] = problems(directory)
    assert f"{gone} is missing" in problem
    put(directory, 3, manifest(content(3, digest(second), parts=[part(name=gone)])))
    assert len(problems(directory)) == 2, "the newest version needs its files"


def test_a_newer_format_is_a_problem_of_its_own(directory: Path) -> None:
    put(directory, 1, manifest(content(formatVersion=5)))
    [problem] = pme.snapshots(directory.parent).problems
    assert problem.startswith("[PME_UNSUPPORTED] snapshot-0000000001.json: format 5 of snapshots is not supported")


def test_a_manifest_that_is_no_regular_file_is_a_problem(directory: Path) -> None:
    directory.mkdir(parents=True)
    os.mkfifo(directory / "snapshot-0000000001.json")
    (directory / "snapshot-0000000002.json").symlink_to("nowhere")
    assert [problem.partition(": ")[2] for problem in problems(directory)] == [
        "the snapshot is damaged: it is not a regular file. Restore the file.",
    ] * 2


def test_snapshots_in_an_object_store(stored: Stored) -> None:
    stored.pipe_file("/bucket/people/a.parquet", b"")
    assert len(pme.snapshots("sealed://bucket/people")) == 0
    stored.pipe_file("/bucket/people/_pme_snapshots/snapshot-0000000001.json", manifest(content()))
    stored.pipe_file(f"/bucket/people/_pme_snapshots/{PART}", bytes(11))
    stored.pipe_file(f"/bucket/people/_pme_snapshots/{INDEX}", bytes(7))
    found = pme.snapshots("sealed://bucket/people")
    assert ([version.version for version in found], found.problems) == ([1], ())
    assert len(pme.snapshots("sealed://bucket/x", location="sealed://bucket/people/_pme_snapshots")) == 1
    with pytest.raises(pme.BadOptionError, match="there is nothing"):
        pme.snapshots("sealed://bucket/nowhere")


def test_a_storage_that_fails_is_a_problem(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    stored.pipe_file("/people/_pme_snapshots/snapshot-0000000001.json", manifest(content()))

    def refused(*_: object, **__: object) -> NoReturn:
        raise RuntimeError("no credentials\x1b[2J\nsecond line")

    monkeypatch.setattr(Stored, "cat_file", refused)
    [problem] = pme.snapshots("sealed://people").problems
    assert problem.startswith("snapshot-0000000001.json: it cannot be read: the storage failed with RuntimeError")
    assert "\x1b" not in problem
    monkeypatch.setattr(Stored, "cat_file", lambda *_, **__: b"{}")
    [problem] = pme.snapshots("sealed://people").problems
    assert "only 2 of its " in problem


def test_the_table_shows_versions_and_the_last_one(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    manifests = chain(directory, 2)
    shown = str(pme.snapshots(directory.parent)).splitlines()
    assert shown[0] == f"{directory.parent}: 2 versions"
    assert shown[2].split() == ["version", "created", "files", "rows", "seal", "digest"]
    assert shown[4].split() == (f"2 2026-11-24 01:02 2 1,000 Ed25519: signer {digest(manifests[1])[:12]}".split())
    text = "\n".join(shown)
    assert digest(manifests[1]) in text
    assert "120.6 KiB" in text
    assert "2, sealed by ada with pme-parquet 0.1.0" in text
    assert "address.zip: key 'pii'; n: key 'footer'; city: not encrypted" in text
    assert "minMax of id: key 'footer'" in text
    assert shown[-1].startswith("No seal was checked")


def test_only_the_last_versions_are_shown(directory: Path) -> None:
    chain(directory, 25)
    assert "and 5 earlier versions; --json and to_dict() list all" in str(pme.snapshots(directory.parent))


def test_many_problems_are_counted(directory: Path) -> None:
    chain(directory, 60)
    for version in range(2, 60, 2):
        (directory / f"snapshot-{version:010}.json").unlink()
    assert "and 9 more problems" in str(pme.snapshots(directory.parent))


def test_to_dict_is_json_and_has_everything(directory: Path) -> None:
    chain(directory, 2)
    found = pme.snapshots(directory.parent)
    document = json.loads(json.dumps(found.to_dict()))
    assert document.keys() == {"path", "location", "storage", "versions", "problems"}
    last = document["versions"][-1]
    assert (last["version"], last["digest"], last["policy"]["footer_key"]) == (2, found[-1].digest, "footer")
    assert last["parts"][0]["name"] == PART


def test_no_text_of_a_manifest_controls_a_screen(directory: Path) -> None:
    stated = content(
        creator=HOSTILE,
        writer=HOSTILE,
        location=HOSTILE,
        partitionColumns=[HOSTILE],
        policy={"footerKey": HOSTILE, "columns": [{"column": [HOSTILE], "key": HOSTILE}]},
        indexes=[
            index(HOSTILE, kind="class", type=HOSTILE, key=HOSTILE, parameters={"class": HOSTILE, HOSTILE: HOSTILE})
        ],
        parts=[part(first=HOSTILE, last=HOSTILE)],
    )
    put(directory, 1, manifest(stated, {"algorithm": "Ed25519", "key": HOSTILE, "value": "A" * 86 + "=="}))
    put(directory, 2, manifest(content(2, "ab" * 32, **{HOSTILE: 1})))
    put(directory, 3, manifest(content(3, "ab" * 32), {"algorithm": HOSTILE, "key": "k", "value": ""}))
    found = pme.snapshots(directory.parent)
    for text in (str(found), on_screen(found, 100), *found.problems):
        assert not any(sign in text.replace("\x1b[1m", "") for sign in ("\x1b]", "\x1b[2J", "\x07", "\u202e", "\n<"))
    assert "<script>" not in found._repr_html_()


def test_versions_that_a_released_version_made_are_listed() -> None:
    found = pme.snapshots(FORMATS / "snapshots-1" / "people")
    assert found.problems == ()
    assert [(one.version, one.algorithm, one.key) for one in found] == [
        (1, "HMAC-SHA256", "footer"),
        (2, "HMAC-SHA256", "footer"),
        (3, "HMAC-SHA256", "footer-2"),
    ]
    assert [one.kind for one in found[-1].indexes] == ["minMax", "valueList", "bloom", "class"]
    assert [one.algorithm for one in pme.snapshots(FORMATS / "snapshots-1" / "open")] == ["Ed25519"]
    assert [one.file_format for one in pme.snapshots(FORMATS / "snapshots-2" / "orc")] == ["orc"]
    [_, newest] = pme.snapshots(FORMATS / "snapshots-4" / "tenants")
    assert (newest.policy.by_partition, newest.policy.footer_key, newest.erasures[0].keys) == (
        True,
        "t-{day}",
        ("t-1",),
    )
