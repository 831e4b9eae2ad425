"""Tests that cross a language or a process: see ``conftest.py`` for the session they share."""
