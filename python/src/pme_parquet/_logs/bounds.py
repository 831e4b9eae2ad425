"""What anyone can write, and a check must not choke on."""

from __future__ import annotations


class UnreadableError(Exception):
    """A file is not what it must be here. The message says why, and repeats nothing of it."""
