"""`pme.delta`: Delta tables. `check` says what anyone can read of a table's protected columns.

`encrypt_table` encrypts a table, and `rotate` gives it new keys, both in commits of the table.
"""

from pme_parquet._checks.delta import DeltaCheck, check
from pme_parquet._checks.results import CheckFinding
from pme_parquet._delta_encryption import EncryptedTable, encrypt_table, rotate

__all__ = ["CheckFinding", "DeltaCheck", "DeltaFinding", "EncryptedTable", "check", "encrypt_table", "rotate"]

#: Another name of :class:`pme_parquet.delta.CheckFinding`.
DeltaFinding = CheckFinding
