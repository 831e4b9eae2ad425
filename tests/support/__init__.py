"""Helpers shared by the Spark tests: canary search, comparison with Spark's own ``parquet`` source."""
