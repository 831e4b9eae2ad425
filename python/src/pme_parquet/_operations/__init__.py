"""Operations on a table in Spark. Start at `operation`: most of them begin there.

`frames` reads and writes, `plan` previews a write, `copies` and `in_place` encrypt, decrypt and rekey,
`migration` moves encrypted ORC tables, `rotation` rewraps keys, `key_usage` lists them, `verify` opens every module,
and `sealing` records a table's files.
The connector does the work: `running` calls it in a thread, `watching` shows its progress, and `failed` makes the error
of a job in which some files failed.
"""
