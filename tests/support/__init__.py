"""Helpers of more than one folder of tests. No folder imports another's; `scripts/house check` refuses that.

`session` starts Spark and has its settings; `expect` has the expectations of errors and writes; `source` compares with
Spark's own `parquet` source. `files` parses files, `interop` has other readers and writers, `kms` has KMS servers;
`generated` draws random tables and conditions.
"""
