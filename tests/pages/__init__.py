"""``reader=pages`` gives the same rows as Spark's own readers, for any table, file and query."""
