"""A literal secret in place of a reference."""

from __future__ import annotations

LITERAL = "aGVsbG8taHVudGVyMi1rZXk="
