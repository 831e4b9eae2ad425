"""No way of writing leaves a byte of a protected column readable. `tests/kms` searches output and heaps for secrets."""
