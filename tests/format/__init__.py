"""Everything Spark's own ``parquet`` source does works through ``pme-parquet`` as well."""
