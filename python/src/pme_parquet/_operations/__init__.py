"""Operations on a table in Spark. Start at `operation`: most of them begin there, and the connector does the work.

`frames` reads, writes and previews a write, `copies` encrypts, decrypts and rekeys, `migration` moves encrypted ORC
tables, `recovery` writes what is sound in a damaged one, `rotation` rewraps keys, `verify` opens every module and lists
what each key protects, `sealing` records a table's files, with `indexes` that `export` writes for others, and
`query_stats` says what these spared a query.
"""
