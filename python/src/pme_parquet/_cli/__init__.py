"""The commands of `pme-parquet`, in `app`; `looking` alone is imported to inspect."""
