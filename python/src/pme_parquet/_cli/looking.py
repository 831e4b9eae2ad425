"""`pme-parquet inspect`, `snapshots`, `hudi-check` and `iceberg-check`: tables without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet import _inspect as inspecting
from pme_parquet import _snapshots as listing
from pme_parquet._checks import hudi, iceberg
from pme_parquet._cli.commands import Answer, Call, command
from pme_parquet._cli.output import FINDING

if TYPE_CHECKING:
    from pme_parquet._checks.results import CheckResult


@command(inspecting.inspect)
def inspect(call: Call) -> Answer:
    """Show which keys protect what, without any key: `pme-parquet inspect s3://bucket/people`.

    It also shows what the snapshots of a table state. No seal is checked; `pme-parquet verify` checks it.

    Exit 1 if something is wrong: plaintext among encrypted files, a damaged file, missing key material, or files that
    differ from the newest snapshot.
    """
    report = call()
    return Answer(report, report.to_dict(), FINDING if report.findings else 0)


@command(listing.snapshots)
def snapshots(call: Call) -> Answer:
    """List the versions of a sealed table, without any key: `pme-parquet snapshots s3://bucket/people`.

    No seal is checked; `pme-parquet verify` checks it.

    Exit 1 if a version is damaged or missing, or does not follow the one before it.
    """
    found = call()
    return Answer(found, found.to_dict(), FINDING if found.problems else 0)


@command(hudi.check)
def hudi_check(call: Call) -> Answer:
    """Show what anyone can read of a Hudi table's protected columns: `pme-parquet hudi-check s3://bucket/people`.

    It searches data files, log files, the timeline, and the metadata table's statistics and indexes. No value is
    printed.

    Exit 1 if something is readable, or could not be looked at.
    """
    return of_check(call())


@command(iceberg.check)
def iceberg_check(call: Call) -> Answer:
    """Show what anyone can read of an Iceberg table: `pme-parquet iceberg-check s3://bucket/warehouse/db/people`.

    It finds tables whose catalog ignores `encryption.key-id`, and single files in plaintext. No value is printed. It
    needs the package fastavro: `pip install fastavro`.

    Exit 1 if something is readable, or could not be looked at.
    """
    return of_check(call())


def of_check(found: CheckResult) -> Answer:
    """Exit 1 if anything is readable, or was not looked at."""
    return Answer(found, found.to_dict(), 0 if found.ok else FINDING)
