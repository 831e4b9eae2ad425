"""Operations on a table in Spark. Start at `operation`: most of them begin there.

`frames` reads and writes, `plan` previews a write, `copies` encrypts, decrypts and rekeys,
`migration` moves encrypted ORC tables, `rotation` rewraps keys, `key_usage` lists them, `verify` opens every module,
and `sealing` records a table's files.
The connector does the work: `watching` calls it in a thread and shows its progress, and `failed` makes the error of a
job in which some files failed.
"""
