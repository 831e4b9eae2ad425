"""A table in a cloud's store, as a package of fsspec reads it, beside the same table on the local disk."""

from __future__ import annotations

import re
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.storage.clouds.place import InCloud
from tests.storage.place import ENC, READING
from tests.support.expect import refused
from tests.support.frames import people
from tests.support.kms.certificates import LOOPBACK
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.storage.clouds.azure import Azure
    from tests.storage.clouds.google import Google

OF_SESSION = "settings of the Spark session: "


@contextmanager
def only_the_store() -> Iterator[None]:
    """Fail if Python looks for any other machine within the block."""
    asked = []
    look_up = socket.getaddrinfo

    def seen(host: Any, *more: Any, **others: Any) -> Any:
        asked.append(host)
        return look_up(host, *more, **others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", seen)
        yield
    assert {host for host in asked if host not in (LOOPBACK, "localhost")} == set()


@dataclass(frozen=True)
class Twins:
    """A sealed table with an index in a store, and on the local disk."""

    place: InCloud
    here: Path

    @classmethod
    def of(cls, request: pytest.FixtureRequest, store: Google | Azure, root: str, here: Path) -> Twins:
        """Write a test's own table into a store, and copy it to a directory on the local disk."""
        name = re.sub(r"\W+", "-", request.node.name).strip("-")
        made = cls(InCloud(request.getfixturevalue("spark"), name, store, root), here)
        made._make()
        return made

    def _make(self) -> None:
        self.place.write(people(self.place.spark), ENC, "error", "country")
        pme.seal(self.place.spark, self.place.path, options=READING, index=[pme.MinMax("id")], expect="unsealed")
        for name, content in self.place.content().items():
            (self.here / name).parent.mkdir(parents=True, exist_ok=True)
            (self.here / name).write_bytes(content)

    def forge(self) -> None:
        """Let the footer of a file in both be longer than the file."""
        name = min(self.place.data())
        forged = (self.here / name).read_bytes()[:-8] + b"\xff\xff\xff\x7fPARE"
        (self.here / name).write_bytes(forged)
        self.place.store.put(f"{self.place.name}/{name}", forged)

    def assert_same(self, how: str, **reached: Any) -> None:
        """Fail unless both have the same report, before and after a file is altered."""
        seen = pme.inspect(self.place.path, **reached)
        assert (seen.storage, seen.findings) == (how, ())
        assert {file.file for file in seen.files} == self.place.data()
        self._assert_same_report(seen)
        for look in (pme.snapshots, pme.describe_index):
            there: Any = look(self.place.path, **reached)
            assert (list(there), there.storage) == (list(look(self.here)), how)
            assert len(list(there)) == 1
        self.forge()
        seen = pme.inspect(self.place.path, **reached)
        assert len(seen.findings) == 1
        self._assert_same_report(seen)
        with refused("PME_BAD_OPTION", "there is nothing"):
            pme.inspect(f"{self.place.path}-absent", **reached)

    def assert_same_page(self, how: str, **reached: Any) -> None:
        """Fail unless a report with keys says the same of both. A seal is of one place, so it is left out."""
        pages = []
        for path, more in ((self.place.path, reached), (str(self.here), {})):
            page = self.here.parent / "report.html"
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("SOURCE_DATE_EPOCH", "0")
                pme.report(path, page, spark=self.place.spark, kms=TEST_KMS, options={"snapshot": "off"}, **more)
            pages.append(page.read_text(encoding="utf-8").replace(path, ""))
        assert "Verification has no findings: 6 files checked with keys" in pages[0]
        assert pages[0].count(how) == 1
        assert pages[0].replace(f'<p class="lead">Storage: {how}.</p>', "") == pages[1]

    def _assert_same_report(self, seen: Any) -> None:
        assert seen.to_dict() | {"path": "", "storage": ""} == pme.inspect(self.here).to_dict() | {"path": ""}
