"""`pme.hudi`: tables of Apache Hudi. `check` says what anyone can read of a table."""

from pme_parquet._checks.hudi import HudiCheck, HudiFinding, check

__all__ = ["HudiCheck", "HudiFinding", "check"]
