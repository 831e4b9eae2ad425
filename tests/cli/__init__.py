"""The command `pme-parquet`, and the progress of long operations."""
