"""Storages through fsspec: URLs, Hadoop's names of schemes, missing packages, and how little is read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry

import pme_parquet as pme
from pme_parquet._inspect.footers import FIRST_READ_BYTES
from tests.support.files import handmade
from tests.support.files.handmade import column, encrypted, material, readable, reference

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Recorded(MemoryFileSystem):  # type: ignore[misc] # fsspec has no types
    """A storage of URLs, in memory, that records the ranges that are read."""

    protocol = ("s3", "abfs", "recorded")
    store: dict[str, Any] = {}  # noqa: RUF012 as its parent
    pseudo_dirs: list[str] = [""]  # noqa: RUF012 as above
    ranges: list[tuple[str, int, int]] = []  # noqa: RUF012 as above

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.split("://", 1)[-1].strip("/")

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: object) -> bytes:
        content: bytes = super().cat_file(path, start=start, end=end, **kwargs)
        self.ranges.append((path, len(content), end or -1))
        return content


@pytest.fixture
def storage() -> Iterator[Recorded]:
    for scheme in Recorded.protocol:
        fsspec.register_implementation(scheme, Recorded, clobber=True)
    files = Recorded()
    yield files
    for left in (files.store, files.ranges, files.pseudo_dirs):
        left.clear()
    files.pseudo_dirs.append("")
    for scheme in Recorded.protocol:
        _registry.pop(scheme)
    Recorded.clear_instance_cache()


def put(files: Recorded, path: str, content: bytes) -> None:
    with files.open(path, "wb") as file:
        file.write(content)


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n", "abfss"])
def test_a_table_behind_a_url(storage: Recorded, scheme: str) -> None:
    for name in ("a.parquet", "day=1/b.parquet", "_temporary/c.parquet", "day=1/.d.crc"):
        put(storage, f"/bucket/people/{name}", encrypted(b"footer"))
    report = pme.inspect(f"{scheme}://bucket/people")
    assert report.path == f"{scheme}://bucket/people"
    assert [file.file for file in report.files] == ["a.parquet", "day=1/b.parquet"]
    assert {file.footer_key.master_key for file in report.files if file.footer_key} == {"footer"}
    assert report.findings == ()


def test_a_file_behind_a_url_with_external_key_material(storage: Recorded) -> None:
    put(storage, "/bucket/t/a.parquet", encrypted(reference("footerKey")))
    put(storage, "/bucket/t/_KEY_MATERIAL_FOR_a.parquet.json", handmade.entries(footerKey=material("footer").decode()))
    report = pme.inspect("s3://bucket/t/a.parquet")
    assert (report.findings, [file.file for file in report.files]) == ((), ["a.parquet"])
    put(storage, "/bucket/t/b.parquet", encrypted(reference("footerKey")))
    assert "it is missing" in pme.inspect("s3://bucket/t/b.parquet").findings[0].message


def test_only_tails_are_read_and_most_with_one_range(storage: Recorded) -> None:
    filling = bytes(3_000_000)
    put(storage, "/t/small", encrypted(b"footer"))
    put(storage, "/t/large", b"PARE" + filling + encrypted(b"footer")[4:])
    wide = readable([column(f"column{n}".encode()) for n in range(9000)])
    put(storage, "/t/wide", b"PAR1" + filling + wide[4:])
    assert len(wide) > 2 * FIRST_READ_BYTES
    assert [file.footer for file in pme.inspect("recorded://t").files] == ["encrypted", "encrypted", "plaintext"]
    read: dict[str, list[int]] = {}
    for path, length, _ in storage.ranges:
        read.setdefault(path, []).append(length)
    assert read["/t/small"] == [len(encrypted(b"footer"))]
    assert read["/t/large"] == [FIRST_READ_BYTES]
    assert [read["/t/wide"][0], sum(read["/t/wide"])] == [FIRST_READ_BYTES, len(wide) - 4]


def test_objects_that_represent_directories_are_not_files(storage: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    put(storage, "/t/day=1/a", encrypted(b"footer"))
    listed = {path: {"name": path, "size": 0, "type": "file"} for path in ("/t/", "/t/day=1/")}
    find = MemoryFileSystem.find
    monkeypatch.setattr(Recorded, "find", lambda *given, **more: find(*given, **more) | listed)
    report = pme.inspect("recorded://t")
    assert ([file.file for file in report.files], report.findings) == (["day=1/a"], ())


def test_a_url_with_no_file_is_refused(storage: Recorded) -> None:
    put(storage, "/bucket/a", b"")
    with pytest.raises(pme.BadOptionError, match=r"s3://bucket/nowhere: there is nothing"):
        pme.inspect("s3a://bucket/nowhere")


def test_a_storage_failure_shows_only_its_first_line(storage: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    put(storage, "/t/a", encrypted(b"footer"))

    def refused(*_: object, **__: object) -> bytes:
        raise RuntimeError("no credentials\x1b[2J\nsecond line")

    monkeypatch.setattr(Recorded, "cat_file", refused)
    [finding] = pme.inspect("recorded://t/a").findings
    assert finding.condition == ""
    assert finding.message == (
        "a: it cannot be read: the storage failed with RuntimeError: no credentials\\x1b[2J. "
        "Check the path and the settings of its file system."
    )
    monkeypatch.setattr(Recorded, "info", refused)
    with pytest.raises(pme.PmeError, match=r"recorded://t/a: it cannot be read") as failed:
        pme.inspect("recorded://t/a")
    assert "second line" not in str(failed.value)


def test_a_file_that_became_shorter_meanwhile_is_a_finding(storage: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    put(storage, "/t/a", encrypted(b"footer"))
    monkeypatch.setattr(Recorded, "cat_file", lambda *_, **__: b"PARE")
    [finding] = pme.inspect("recorded://t/a").findings
    assert "only 4 of " in finding.message


@pytest.mark.parametrize(
    ("url", "package"),
    [
        ("s3a://bucket/t", "s3fs"),
        ("gs://bucket/t", "gcsfs"),
        ("abfss://c@a.dfs.core.windows.net/t", "adlfs"),
        ("hdfs:/t", "pyarrow"),
    ],
)
def test_a_missing_package_is_named(url: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        pme.UnsupportedError, match=rf"the package {package}, which is not installed\. pip install {package}"
    ):
        pme.inspect(url)


def test_an_unknown_scheme_is_reported() -> None:
    with pytest.raises(pme.PmeError, match="Protocol not known: nothing"):
        pme.inspect("nothing://bucket/t")


def test_options_go_to_fsspec_and_are_never_shown(storage: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    put(storage, "/t/a", encrypted(b"footer"))
    given: list[dict[str, object]] = []

    def made(self: Recorded, **options: object) -> None:
        given.append(options)
        MemoryFileSystem.__init__(self)

    monkeypatch.setattr(Recorded, "__init__", made)
    Recorded.clear_instance_cache()
    report = pme.inspect("recorded://t", storage_options={"secret": "swordfish"})
    # Once for the files, and once for the snapshots.
    assert given == [{"secret": "swordfish"}] * 2
    assert "swordfish" not in str(report) + repr(report)


def test_passwords_and_signatures_of_urls_are_not_shown() -> None:
    from pme_parquet._storage import shown

    assert shown("https://user:pw@host/a?sig=s") == "https://host/a"
    assert shown("ftp://user:pw@host/a") == "ftp://host/a"
    assert (
        shown("abfss://container@account.dfs.core.windows.net/a") == "abfss://container@account.dfs.core.windows.net/a"
    )
    assert shown("/data/a?b:c@d") == "/data/a?b:c@d"


@pytest.mark.parametrize("url", ["file:{}", "file://{}", "{}", "local://{}"])
def test_local_paths_and_their_urls(tmp_path: Path, url: str) -> None:
    (tmp_path / "a=b:c").write_bytes(encrypted(b"footer"))
    assert [file.file for file in pme.inspect(url.format(tmp_path)).files] == ["a=b:c"]
    assert pme.inspect(url.format(tmp_path / "a=b:c")).findings == ()


@pytest.mark.parametrize("name", ["a:b", "C:/x", "x::y", "100%"])
def test_names_that_look_like_urls_but_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(encrypted(b"footer"))
    assert pme.inspect(tmp_path / name).findings == ()
