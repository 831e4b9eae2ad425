"""`pme.iceberg`: tables of Apache Iceberg. `check` says what anyone can read of a table."""

from pme_parquet._checks.iceberg import IcebergCheck, check
from pme_parquet._checks.results import CheckFinding

__all__ = ["IcebergCheck", "IcebergFinding", "check"]

#: Another name of :class:`pme_parquet.delta.CheckFinding`.
IcebergFinding = CheckFinding
