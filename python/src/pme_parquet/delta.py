"""`pme.delta`: Delta tables. `check` says what anyone can read of a table's protected columns."""

from pme_parquet._delta import DeltaCheck, DeltaFinding, check

__all__ = ["DeltaCheck", "DeltaFinding", "check"]
