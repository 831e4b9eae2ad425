"""How the tables of reports are written and read."""

from __future__ import annotations

from tests.support.session import TEST_KMS

KMS = {"kms": TEST_KMS}


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


KEYS = {"footerKey": "footer", "columnKeys": "pii: name, ssn; pay: salary"}
