"""Everything that Spark's own ``parquet`` source does works through ``pme-parquet``, too."""
