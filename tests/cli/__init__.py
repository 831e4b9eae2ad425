"""The command `pme-parquet`, and the progress of what takes long."""
