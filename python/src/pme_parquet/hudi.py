"""`pme.hudi`: tables of Apache Hudi. `check` says what anyone can read of a table."""

from pme_parquet._checks.hudi import HudiCheck, check
from pme_parquet._checks.results import CheckFinding

__all__ = ["HudiCheck", "HudiFinding", "check"]

#: Another name of :class:`pme_parquet.delta.CheckFinding`.
HudiFinding = CheckFinding
