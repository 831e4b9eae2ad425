"""The release that tests install from. All parts of `make test-all` share what takes minutes to make of a commit.

Its version is nobody else's, so that no test can find what a build or an earlier version left behind.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.session import ROOT

if TYPE_CHECKING:
    from pathlib import Path

VERSION = "9.8.7-rc1"
PYTHON_VERSION = "9.8.7rc1"
SIGNER = "somebody@example.org"
RELEASES = ROOT / "target" / "tests" / "releases"
# Changes of these make no other release.
UNRELEASED = [":(exclude)tests", ":(exclude)docs"]


def made() -> Path:
    """Return the folder of a signed release. The clone that it is made of, and the key's `gnupg`, are beside it."""
    commit = _git("log", "-1", "--format=%H", "--", ".", *UNRELEASED)
    place = RELEASES / commit
    if not (place / "one").exists():
        shutil.rmtree(RELEASES, ignore_errors=True)
        (place / "gnupg").mkdir(parents=True, mode=0o700)
        key = ["--quick-generate-key", f"Somebody <{SIGNER}>", "ed25519"]
        command = ["gpg", "--batch", "--passphrase", "", *key]
        subprocess.run(command, env=environment(place), check=True, capture_output=True)
        # `make test-all` writes into docs/tested.md, and a release is made of what is committed.
        subprocess.run(["git", "clone", "-q", str(ROOT), str(place / "clone")], check=True)  # noqa: S607
        subprocess.run(["git", "checkout", "-q", commit], cwd=place / "clone", check=True)  # noqa: S607
        shutil.copytree(ROOT / ".tools", place / "clone" / ".tools")
        make(place, "one", "--key", SIGNER)
        subprocess.run(["gpgconf", "--kill", "all"], env=environment(place), check=False)  # noqa: S607
    return place / "one"


def make(place: Path, name: str, *more: str) -> None:
    """Make a release of the clone."""
    script = place / "clone" / "scripts" / "release"
    command = [sys.executable, str(script), VERSION, "--to", str(place / name), *more]
    done = subprocess.run(command, env=environment(place), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def environment(place: Path) -> dict[str, str]:
    """Return an environment in which gpg has the release's key."""
    return {**os.environ, "GNUPGHOME": str(place / "gnupg")}


def repository(to: Path) -> str:
    """Unpack what Central would serve, and return its address."""
    shutil.unpack_archive(made() / f"pme-parquet-{VERSION}.zip", to)
    return to.as_uri()


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S607
