"""``reader=pages`` gives the rows that Spark's own readers give, whatever the table, the file and the query."""
