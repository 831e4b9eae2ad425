"""The commands of `pme-parquet`. Start at `app`, which lists them; `cli` runs them and turns failures into exit codes.

`looking`, `copying`, `rotating`, `sealing`, `verifying`, `advising` and `keystores` have the commands. Each reads its
options with `given`, `parsing` and `shared`, and starts with `beginning`: `checking` checks what needs no Spark,
`sessions` starts Spark (`starting`, `chatter`). `exits` has the exit codes. Messages are in the words of
`pme_parquet._audience`.
"""
