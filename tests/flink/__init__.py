"""Apache Flink's SQL on Parquet files, with our crypto factory."""
