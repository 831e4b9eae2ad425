"""Metadata stores of Xskipper: read, skipped by, and written."""
