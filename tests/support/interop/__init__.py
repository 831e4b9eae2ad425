"""The same table written and read by others: PyArrow (`arrow_kms`, `arrow_files`) and Spark's own source (`modes`)."""
