"""The log of a Delta table: which files are live.

`log` copies it, `documents` reads its JSON, and `live` asks the package `deltalake`; `said` does all of this for who
needs only the answer. `bounds` has the error of files that are not what they must be, and `sums` knows files of
checksums; checks of other formats need them, too.
"""
