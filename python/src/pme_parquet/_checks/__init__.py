"""What anyone can read of a table, without a key, a JVM or Spark: `delta`, `iceberg` and `hudi`, each with its `check`.

A check lists all files below a table, looks at each, and asks where a value of a protected column is readable.
`files` lists and looks, and `results` collects findings and is the answer.
"""
