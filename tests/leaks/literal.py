"""A secret that is written out where a reference belongs."""

from __future__ import annotations

LITERAL = "aGVsbG8taHVudGVyMi1rZXk="
