"""Keystores created with the JDK's keytool: all keys or none, and no password on a command line or in a message."""

import shutil
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import pme_parquet as pme
from tests.support.session import QUICK

PASSWORD = "swordfish-41"
ALIASES = ["footer", "my key", "pii"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each keytool take a fraction of a second."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pme.Keystore:
    monkeypatch.setenv("PME_UNIT_PASSWORD", PASSWORD)
    return pme.Keystore(tmp_path / "keys.p12", password=pme.env("PME_UNIT_PASSWORD"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a keystore with three keys, which tests copy: keytool starts a JVM for each key."""
    path = tmp_path_factory.mktemp("made") / "keys.p12"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", QUICK)
        patch.setenv("PME_UNIT_PASSWORD", PASSWORD)
        pme.Keystore(path, password=pme.env("PME_UNIT_PASSWORD")).create(ALIASES)
    return path


@pytest.fixture
def filled(store: pme.Keystore, made: Path) -> pme.Keystore:
    """Return the store with the keys of ``ALIASES``."""
    shutil.copy(made, store.path)
    return store


def _beside(store: pme.Keystore) -> list[str]:
    return [path.name for path in Path(store.path).parent.iterdir()]


def test_keys_are_made_added_and_listed(store: pme.Keystore) -> None:
    assert store.create(["footer"]).aliases() == ["footer"]
    odd = "an odd: name, äöü 1"
    assert store.add(odd, "@all", "-v").aliases() == ["-v", "@all", odd, "footer"]


def test_a_name_that_pkcs12_stores_in_lower_case_is_refused(filled: pme.Keystore) -> None:
    with pytest.raises(pme.BadOptionError, match="'Footer' cannot be used: 'footer' already exists"):
        filled.add("Footer")
    with pytest.raises(pme.BadOptionError, match="PKCS12 would store it as 'pay'"):
        filled.add("Pay")
    assert filled.aliases() == ALIASES
    assert _beside(filled) == ["keys.p12"]


def test_only_the_owner_may_read_the_file(made: Path) -> None:
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


def test_the_password_can_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(PASSWORD + "\n")
    store = pme.Keystore(tmp_path / "keys.p12", password=pme.file(tmp_path / "password"))
    store.create(["footer"], bits=128)
    # keytool has listed the key with the same password.
    assert Path(store.path).stat().st_size


def test_an_existing_file_is_not_touched(store: pme.Keystore) -> None:
    Path(store.path).write_bytes(b"something of the user's")
    with pytest.raises(pme.BadOptionError, match="exists"):
        store.create(["footer"])
    assert Path(store.path).read_bytes() == b"something of the user's"


def test_a_name_that_exists_adds_no_key_at_all(filled: pme.Keystore) -> None:
    with pytest.raises(pme.BadOptionError, match="already exists"):
        filled.add("fresh", "footer")
    assert filled.aliases() == ALIASES
    assert _beside(filled) == ["keys.p12"]


def test_a_failed_create_leaves_nothing(store: pme.Keystore) -> None:
    with pytest.raises(pme.PmeError):
        store.create(["footer"], bits=123)
    assert _beside(store) == []


@pytest.mark.parametrize("names", [[], "footer"])
def test_no_names_or_one_text_are_refused(store: pme.Keystore, names: Sequence[str]) -> None:
    with pytest.raises(pme.BadOptionError, match="names"):
        store.create(names)


def test_the_wrong_password_is_a_refusal_that_does_not_repeat_it(
    filled: pme.Keystore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PME_UNIT_PASSWORD", "another-password")
    with pytest.raises(pme.KmsUnavailableError, match="password is wrong") as caught:
        filled.aliases()
    assert "another-password" not in str(caught.value)


def test_a_password_that_keytool_finds_too_short_is_an_error_that_names_the_users_file(
    store: pme.Keystore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PME_UNIT_PASSWORD", "abc")
    with pytest.raises(pme.KmsUnavailableError, match="at least 6 characters") as caught:
        store.create(["footer"])
    assert f"{store.path}: " in str(caught.value)


def test_a_missing_keystore_is_reported(store: pme.Keystore) -> None:
    for use in (store.aliases, lambda: store.add("pii")):
        with pytest.raises(pme.KmsUnavailableError, match="no such file"):
            use()


@pytest.mark.parametrize(
    ("reference", "error"),
    [
        (pme.env("PME_NOT_SET"), pme.BadOptionError),
        (pme.file("/no/such/file"), pme.BadOptionError),
        (pme.conf("spark.pme.password"), pme.UnsupportedError),
    ],
)
def test_a_password_that_cannot_be_read_is_named_by_its_reference(
    tmp_path: Path, reference: pme.SecretReference, error: type[pme.PmeError]
) -> None:
    with pytest.raises(error, match=reference.name):
        pme.Keystore(tmp_path / "keys.p12", password=reference).create(["footer"])


def test_the_password_is_not_on_keytools_command_line(store: pme.Keystore, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    run: Any = subprocess.run

    def spy(arguments: list[str], **settings: Any) -> Any:
        seen.append(arguments)
        return run(arguments, **settings)

    monkeypatch.setattr(subprocess, "run", spy)
    store.create(["footer"])
    assert seen
    assert not [part for arguments in seen for part in arguments if PASSWORD in part]


def test_without_a_jdk_the_error_says_what_is_needed(store: pme.Keystore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pme.UnsupportedError, match="JDK 17"):
        store.create(["footer"])


def test_a_directory_in_place_of_a_keystore_is_an_error_that_names_a_file_in_it(store: pme.Keystore) -> None:
    directory = pme.Keystore(Path(store.path).parent, password=store.password)
    for use in (directory.aliases, lambda: directory.add("pii"), lambda: directory.create(["pii"])):
        with pytest.raises(pme.PmeError, match=r"it is a directory\. Name a file in it: .*/keys\.p12"):
            use()


def test_a_subset_has_only_the_named_keys_under_a_password_of_its_own(
    filled: pme.Keystore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PME_COLLEAGUE", "for-the-colleague")
    target = tmp_path / "colleague.p12"
    made = filled.subset(target, ["footer", "my key"], password=pme.env("PME_COLLEAGUE"))
    assert made.aliases() == ["footer", "my key"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with pytest.raises(pme.KmsUnavailableError, match="password is wrong"):
        pme.Keystore(target, filled.password).aliases()
    assert filled.aliases() == ALIASES


def test_a_subset_with_a_key_that_is_not_there_or_on_a_file_that_is_makes_nothing(
    filled: pme.Keystore, tmp_path: Path
) -> None:
    with pytest.raises(pme.KeyNotFoundError, match=r"there is no key 'pay'. The keys are: footer, my key, pii\."):
        filled.subset(tmp_path / "other.p12", ["footer", "pay"])
    assert _beside(filled) == ["keys.p12"]
    before = Path(filled.path).read_bytes()
    with pytest.raises(pme.BadOptionError, match="the file exists"):
        filled.subset(filled.path, ["footer"])
    assert Path(filled.path).read_bytes() == before
