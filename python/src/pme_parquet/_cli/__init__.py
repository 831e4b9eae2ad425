"""The commands of `pme-parquet`. Start at `app`, which lists them; `cli` runs them and turns failures into exit codes.

`looking`, `copying`, `rotating`, `sealing`, `verifying`, `delta` and `keystores` have the commands. `groups` makes
options of dataclasses, and `options` reads them. `checking` checks what needs no Spark before `sessions` starts it.
`output` has what is printed, and the exit codes. Messages are in the words of `pme_parquet._audience`.
"""
