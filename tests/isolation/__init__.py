"""Tests that the keys of one frame are never seen by another."""
