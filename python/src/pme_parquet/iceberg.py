"""`pme.iceberg`: tables of Apache Iceberg. `check` says what anyone can read of a table."""

from pme_parquet._checks.iceberg import IcebergCheck, check
from pme_parquet._checks.results import CheckFinding

__all__ = ["CheckFinding", "IcebergCheck", "IcebergFinding", "check"]

IcebergFinding = CheckFinding
