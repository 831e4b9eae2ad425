"""Helpers of more than one folder of tests. No folder imports another's; `scripts/house check` refuses that.

`session` starts Spark and has its settings; `expect` has what tests expect of errors and writes; `source` compares with
Spark's own `parquet` source. `files` takes files apart, `interop` has other readers and writers, `kms` has KMS servers.
"""
