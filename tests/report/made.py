"""Reports with keys: by a session, each searched for secrets and for what it loads; and of results that a test made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from pme_parquet._access import access
from pme_parquet._operations.verify import Opened
from pme_parquet._report.facts import KeyUse, gather
from pme_parquet._report.page import page
from pme_parquet._report.protection import Alike, Problem, Protected, Protection
from tests.report.pages import Page, assert_self_contained
from tests.support.expect import assert_no_secret
from tests.support.files.handmade import encrypted, material
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

KMS = {"kms": TEST_KMS}
KEYS = {"footerKey": "footer", "columnKeys": "pii: name, ssn; pay: salary"}
# Several row groups and pages, indexes and filters in a file of some kilobytes.
SMALL_PAGES = {
    "parquet.block.size": "30000",
    "parquet.block.row.count.limit": "300",
    "parquet.page.row.count.limit": "100",
    "parquet.page.size.row.check.min": "100",
    "parquet.bloom.filter.enabled#ssn": "true",
    "parquet.enable.dictionary#ssn": "false",
    "parquet.bloom.filter.max.bytes": "1024",
}


def report(spark: SparkSession, table: str, out: Path, **given: object) -> Page:
    settings: dict[str, object] = {"options": KMS} | given
    return checked(pme.report(table, out, spark=spark, **settings))  # type: ignore[arg-type] # a test's own


def checked(written: Path) -> Page:
    page = Page(written)
    assert_self_contained(page)
    # The page's style is known to browsers by a hash.
    assert_no_secret(re.sub("sha256-[A-Za-z0-9+/]+=", "", page.source))
    return page


def use(key: str, *columns: str, kind: str = "column", files: int = 2) -> KeyUse:
    """Return what key_usage finds of a master key that wraps data keys twice, in the file."""
    lost = files if kind == "footer" else 0
    wrapped = ("double", "internal", files, columns, 2048, 300)
    return KeyUse(key, None, kind, *wrapped, lost, () if lost else columns, (), (), (128,), (256,))


def alike(first: str, **columns: str | None) -> Alike:
    """Return a file whose columns are under these keys: `footer` is the footer's, and None none."""
    kinds: dict[str | None, Any] = {"footer": "footer key", None: "plaintext"}
    found = tuple(Protected(name, kinds.get(key, "column key"), key) for name, key in columns.items())
    return Alike(1, 4096, first, "encrypted", found)


OPENED = Opened(2, 40, 0, 4096, 0, 0, None)
USES = (use("footer", "id", kind="footer"), use("pii", "name", "ssn"), use("pay", "salary"))
PROTECTION = Protection((alike("a", id="footer", name="pii", ssn="pii", salary="pay"),), "a KMS", {})


@dataclass(frozen=True)
class Known:
    """Stands in for a session with the keys: what verification and key usage find.

    Attributes:
        problems: what verification finds.
        opened: what it opened.
        uses: what key_usage finds.
        protection: how columns are protected.
        checked: whether verification checks seals.
    """

    problems: tuple[Problem, ...] = ()
    opened: Opened = OPENED
    uses: tuple[KeyUse, ...] = USES
    protection: Protection = PROTECTION
    checked: bool = False
    spark: None = None

    def verified(self, _: object) -> tuple[tuple[Problem, ...], Opened]:
        return self.problems, self.opened

    def usage(self, _: object) -> tuple[tuple[KeyUse, ...], Protection]:
        return self.uses, self.protection

    def checks_seals(self) -> bool:
        return self.checked

    def write(self, root: Path) -> Path:
        """Write the report of a table with two encrypted files."""
        table = root / "table"
        table.mkdir(exist_ok=True)
        for name in ("a", "b"):
            (table / name).write_bytes(encrypted(material("footer")))
        keyed: Any = self
        facts = gather(str(table), access(str(table), None, None, "pme.report"), keyed)
        out = root / "report.html"
        out.write_text(page(facts, datetime(2026, 11, 28, tzinfo=timezone.utc), "0.1.0"), encoding="utf-8")
        return out
