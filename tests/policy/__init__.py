"""Tests that what ought to be refused is refused, by name, and leaves nothing behind."""
