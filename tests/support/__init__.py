"""Helpers of more than one folder of tests. No folder imports another's; `scripts/house check` refuses that.

`session` starts Spark and has its settings; `expect` has the expectations of errors and writes; `source` compares with
Spark's own `parquet` source; `canary` searches files for readable values. `commands` runs our command, `processes` a
Python with a Spark of its own, `java` compiles classes. `frames` and `tables` have data.

`files` parses, alters and forges files, `interop` has other readers and writers, `kms` has KMS servers and clients,
`storage` has stores, and `file_systems` local ones that stop. `selection` chooses what `make test` runs, and `ran`
shows what ran.
"""
