"""Verification of tables: all that does not open is found, and nothing else."""
