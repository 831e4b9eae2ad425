"""The same table (`samples`) written and read by others: PyArrow (`arrow_files`) and Spark's own source (`modes`)."""
