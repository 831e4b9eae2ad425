"""Tables in an object store: a moto server on a loopback address, and the user's packages that read from it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import s3fs

import pme_parquet as pme
from tests.support.commands import run
from tests.support.files import handmade
from tests.support.files.handmade import chain, encrypted, material
from tests.support.kms.moto_server import Moto

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLACE = "bucket/people"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table on disk: two partitions, key material beside a file, and a plaintext file of somebody."""
    path = tmp_path_factory.mktemp("local") / "people"
    for name, content in {
        "day=1/a.parquet": encrypted(material("pii")),
        "day=1/b.parquet": handmade.readable([handmade.column(b"x")]),
        "day=2/c.parquet": encrypted(handmade.reference("footerKey")),
    }.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    handmade.beside(path / "day=2/c.parquet", footerKey="pay")
    chain(path / "_pme_snapshots", 2)
    return path


@pytest.fixture(scope="module")
def store(table: Path) -> Iterator[dict[str, Any]]:
    """Return the options to reach the store with a copy of it."""
    with Moto() as moto:
        reached = {"key": "nobody", "secret": "nothing", "endpoint_url": moto.url}
        files = s3fs.S3FileSystem(**reached)
        files.mkdir("bucket")
        files.put(str(table), PLACE, recursive=True)
        yield reached


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_a_table_in_s3_has_the_same_report_as_on_disk(table: Path, store: dict[str, Any], scheme: str) -> None:
    there = pme.inspect(f"{scheme}://{PLACE}", storage_options=store).to_dict()
    here = pme.inspect(table).to_dict()
    assert (len(here["files"]), here["tables"][0]["versions"]) == (3, 2)
    assert there["storage"] == f"storage_options: endpoint_url {store['endpoint_url']}, key, secret"
    assert there | {"path": "", "storage": ""} == here | {"path": ""}


def test_the_command_finds_the_store_in_the_environment(
    table: Path, store: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in store.items():
        monkeypatch.setenv(f"FSSPEC_S3_{name.upper()}", value)
    # fsspec reads the environment when it is imported.
    command = [sys.executable, "-c", "from pme_parquet.cli import main; main()", "inspect", f"s3://{PLACE}"]
    there = subprocess.run(command, capture_output=True, text=True, check=False)
    here = run("inspect", table)
    assert (there.returncode, here.code) == (1, 1)
    how = f"storage: found by fsspec for s3, with its settings endpoint_url {store['endpoint_url']}, key, secret\n"
    assert there.stdout.replace(f"s3://{PLACE}", "").replace(how, "") == here.out.replace(str(table), "")
    assert how in there.stdout


def test_the_command_takes_options(table: Path, store: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", store["secret"])
    given = [f"endpoint_url={store['endpoint_url']}", f"key={store['key']}", "secret=env:MY_SECRET"]
    found = run("inspect", f"s3://{PLACE}", "--json", *(part for one in given for part in ("--storage-option", one)))
    assert found.code == 1, found.err
    assert found.document["files"] == json.loads(json.dumps(pme.inspect(table).to_dict()["files"]))


def test_what_was_written_since_the_last_look_is_seen(store: dict[str, Any]) -> None:
    place = "bucket/growing"
    other = s3fs.S3FileSystem(**store, skip_instance_cache=True)
    for count in (1, 2):
        other.pipe_file(f"{place}/{count}.parquet", encrypted(b"footer"))
        assert len(pme.inspect(f"s3://{place}", storage_options=store).files) == count


def test_what_is_not_in_the_store_is_reported(store: dict[str, Any]) -> None:
    with pytest.raises(pme.PmeError, match="there is nothing"):
        pme.inspect("s3://bucket/nobody", storage_options=store)
