"""A keystore's file through races, links and kills: no master key is ever lost. Python code plays keytool."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from pme_parquet._kms import keystore_file
from tests.python import killed_job
from tests.python.killed_job import played, stored
from tests.support import needs
from tests.support.processes import environment

if TYPE_CHECKING:
    from collections.abc import Callable

PASSWORD = pme.file("nowhere")


@pytest.fixture(autouse=True)
def played_keytool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keystore_file, "keytool_arguments", stored)
    monkeypatch.setattr(keystore_file, "run_keytool", played)


@pytest.fixture
def store(tmp_path: Path) -> pme.Keystore:
    return pme.Keystore(tmp_path / "keys.p12", password=PASSWORD).create(["footer"])


def _beside(store: pme.Keystore) -> list[str]:
    return sorted(path.name for path in Path(store.path).parent.iterdir())


def _meanwhile(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen once while a key is created."""
    due = [happens]

    def run(command: list[str], *rest: Any) -> str:
        if command[0] == "-genseckey" and due:
            due.pop()()
        return played(command, *rest)

    monkeypatch.setattr(keystore_file, "run_keytool", run)


def test_keys_added_at_the_same_time_are_all_kept(store: pme.Keystore, monkeypatch: pytest.MonkeyPatch) -> None:
    # The first process waits in the middle of its work until the second waits for the lock.
    waits = threading.Event()

    def paused(seconds: float) -> None:
        waits.set()
        time.sleep(seconds)

    monkeypatch.setattr(keystore_file, "sleep", paused)
    _meanwhile(monkeypatch, lambda: _start_second(store, others, waits))
    with ThreadPoolExecutor(1) as others_pool:
        others: list[Any] = [others_pool]
        store.add("first", "first-2")
        others[1].result()
    assert store.aliases() == ["first", "first-2", "footer", "second"]
    assert _beside(store) == ["keys.p12"]


def _start_second(store: pme.Keystore, others: list[Any], waits: threading.Event) -> None:
    others.append(others[0].submit(store.add, "second"))
    assert waits.wait(60)


def test_a_process_that_adds_keys_waits_for_another_one(store: pme.Keystore, monkeypatch: pytest.MonkeyPatch) -> None:
    second: list[subprocess.Popen[str]] = []

    def start() -> None:
        job = [sys.executable, str(killed_job.__file__), "add", str(store.path)]
        second.append(subprocess.Popen(job, stdout=subprocess.PIPE, text=True, env=environment()))
        assert second[0].stdout
        assert second[0].stdout.readline() == "waits\n"

    _meanwhile(monkeypatch, start)
    store.add("first")
    assert second[0].wait(60) == 0
    second[0].communicate()
    assert store.aliases() == ["first", "footer", "second"]


def test_one_of_two_concurrent_creates_of_a_keystore_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = pme.Keystore(tmp_path / "keys.p12", password=PASSWORD)
    _meanwhile(monkeypatch, lambda: other.create(["theirs"]))
    other = pme.Keystore(tmp_path / "keys.p12", password=PASSWORD)
    with pytest.raises(pme.BadOptionError, match="the file exists"):
        store.create(["ours"])
    assert store.aliases() == ["theirs"]
    assert _beside(store) == ["keys.p12"]


def test_a_keystore_that_something_else_changed_meanwhile_is_not_replaced(
    store: pme.Keystore, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = b"footer\nby hand\n"
    _meanwhile(monkeypatch, lambda: Path(store.path).write_bytes(theirs))
    with pytest.raises(pme.KmsUnavailableError, match="changed or moved it at the same time"):
        store.add("pii")
    assert Path(store.path).read_bytes() == theirs


def test_waiting_for_a_lock_that_is_not_released_ends(store: pme.Keystore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keystore_file, "_PATIENCE", 0)
    with Path(store.path).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(pme.KmsUnavailableError, match="another process"):
            store.add("pii")
    assert store.add("pii").aliases() == ["footer", "pii"]


def test_a_link_is_followed_and_stays(tmp_path: Path, store: pme.Keystore) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.p12"
    link.symlink_to(Path("..") / "keys.p12")
    linked = pme.Keystore(link, password=PASSWORD)
    linked.add("pii")
    assert link.is_symlink()
    assert store.aliases() == linked.aliases() == ["footer", "pii"]


def test_links_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    nowhere, circle = tmp_path / "nowhere", tmp_path / "circle"
    nowhere.symlink_to(tmp_path / "keys.p12")
    circle.symlink_to(circle)
    for path in (nowhere, circle):
        store = pme.Keystore(path, password=PASSWORD)
        with pytest.raises(pme.BadOptionError, match="a link to a file that does not exist"):
            store.create(["footer"])
        with pytest.raises(pme.KmsUnavailableError, match="a link to a file that does not exist"):
            store.add("footer")
    assert not (tmp_path / "keys.p12").exists()


def test_a_link_that_changes_meanwhile_replaces_neither_file(
    tmp_path: Path, store: pme.Keystore, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(store.path)
    (tmp_path / "other").write_bytes(b"another\n")

    def turn() -> None:
        link.unlink()
        link.symlink_to(tmp_path / "other")

    _meanwhile(monkeypatch, turn)
    with pytest.raises(pme.KmsUnavailableError, match="changed or moved"):
        pme.Keystore(link, password=PASSWORD).add("pii")
    assert store.aliases() == ["footer"]
    assert (tmp_path / "other").read_bytes() == b"another\n"


def test_a_hard_link_is_refused(tmp_path: Path, store: pme.Keystore) -> None:
    os.link(store.path, tmp_path / "other name")
    with pytest.raises(pme.BadOptionError, match="hard link"):
        store.add("pii")
    assert store.aliases() == ["footer"]


def test_mode_and_access_list_of_the_file_are_kept(store: pme.Keystore) -> None:
    path = Path(store.path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    store.add("pii")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@needs.root
def test_the_owner_of_the_file_is_kept(store: pme.Keystore) -> None:
    os.chown(store.path, 12345, 23456)
    store.add("pii")
    found = Path(store.path).stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12345, 23456, 0o600)


@pytest.mark.parametrize("call", ["open", "fsync", "replace", "link"])
def test_what_the_operating_system_refuses_is_our_error_and_changes_nothing(
    store: pme.Keystore, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    real = getattr(os, call)

    def refuse(*given: Any, **named: Any) -> Any:
        if call == "open" and not given[1] & os.O_EXCL:
            return real(*given, **named)
        raise PermissionError(13, "Permission denied")

    new = pme.Keystore(Path(store.path).with_name("new.p12"), password=PASSWORD)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        if call != "link":
            with pytest.raises(pme.BadOptionError, match="Permission denied"):
                store.add("pii")
        if call != "replace":
            with pytest.raises(pme.BadOptionError, match="Permission denied"):
                new.create(["pii"])
    assert store.aliases() == ["footer"]


def test_a_directory_that_is_not_there_is_our_error(tmp_path: Path) -> None:
    with pytest.raises(pme.BadOptionError, match="No such file or directory"):
        pme.Keystore(tmp_path / "nowhere" / "keys.p12", password=PASSWORD).create(["footer"])


def test_the_file_is_synced_before_it_is_renamed_and_its_name_before_the_call_returns(
    store: pme.Keystore, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def spy(name: str) -> None:
        real = getattr(os, name)

        def called(*given: Any, **named: Any) -> Any:
            folder = name == "fsync" and stat.S_ISDIR(os.fstat(given[0]).st_mode)
            calls.append(f"{name} directory" if folder else name)
            return real(*given, **named)

        monkeypatch.setattr(os, name, called)

    for name in ("fsync", "replace", "link"):
        spy(name)
    store.add("pii")
    pme.Keystore(Path(store.path).with_name("new.p12"), password=PASSWORD).create(["pii"])
    assert calls == ["fsync", "replace", "fsync directory", "fsync", "link", "fsync directory"]


@pytest.mark.parametrize("verb", ["create", "add"])
def test_a_kill_at_any_point_leaves_the_old_keystore_or_the_new_one(tmp_path: Path, verb: str) -> None:
    job = [sys.executable, str(killed_job.__file__), f"kill-{verb}", str(tmp_path)]
    done = subprocess.run(job, capture_output=True, text=True, check=True, env=environment())
    found = json.loads(done.stdout)
    old = [None] if verb == "create" else [["footer"]]
    new = ["footer", "pay", "pii"]
    assert len(found) > 8
    assert all(aliases in [*old, new] for aliases in found)
    assert found[0] in old
    assert found[-1] == new


# test_keystore shows how a real PKCS12 keystore, with real keytool, changes letter case.
def test_a_name_that_the_keystore_has_in_another_letter_case_is_refused(store: pme.Keystore) -> None:
    with pytest.raises(pme.BadOptionError, match=r"'Footer' cannot be used: 'footer' already exists"):
        store.add("pii", "Footer")
    assert store.aliases() == ["footer"]


@pytest.mark.parametrize("name", ["Pii", "ÄRA"])
def test_a_name_that_the_keystore_would_store_in_another_letter_case_is_refused(store: pme.Keystore, name: str) -> None:
    with pytest.raises(pme.BadOptionError, match=f"PKCS12 would store it as '{name.lower()}'"):
        store.add(name)
    assert store.aliases() == ["footer"]


@pytest.mark.parametrize("names", [[""], [" "], ["a\nEntry type: SecretKeyEntry"], ["a", "a"], ["\x1b[1m"]])
def test_invalid_names_are_refused(store: pme.Keystore, names: list[str]) -> None:
    with pytest.raises(pme.BadOptionError, match="cannot be used"):
        store.add(*names)
    assert store.aliases() == ["footer"]
