"""`pme.iceberg`: tables of Apache Iceberg. `check` says what anyone can read of a table."""

from pme_parquet._checks.iceberg import IcebergCheck, IcebergFinding, check

__all__ = ["IcebergCheck", "IcebergFinding", "check"]
