"""The log of a Delta table. `log` copies it and reads its JSON; `live` says which files are live.

`deltalake` reads the copy, or a session's Delta reads the table.
"""
