"""Which key a write would use for which column, without a write. Start at `planned`.

`planned` asks the connector, which decides as it does in a write. `parts` has the columns, patterns and refusals of a
plan, and `view` shows them. The public function is in `_operations.plan`; `Encryption.explain` calls it too.
"""
