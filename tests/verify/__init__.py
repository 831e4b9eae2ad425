"""Verification of tables: it finds everything that does not open, and nothing else."""
