"""Delta tables for tests of `pme.delta.check`."""
