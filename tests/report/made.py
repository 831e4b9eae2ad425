"""Reports with keys, each searched for secrets and for what it loads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.report.pages import Page, assert_self_contained
from tests.report.settings import KMS
from tests.support.expect import assert_no_secret

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def report(spark: SparkSession, table: str, out: Path, **given: object) -> Page:
    settings: dict[str, object] = {"options": KMS} | given
    page = Page(pme.report(table, out, spark=spark, **settings))  # type: ignore[arg-type] # a test's own
    assert_self_contained(page)
    # The page's style is known to browsers by a hash.
    assert_no_secret(re.sub("sha256-[A-Za-z0-9+/]+=", "", page.source))
    return page
