"""Table encryption of Apache Iceberg with keys of this format's KMSs, and what `pme.iceberg.check` says of tables."""
