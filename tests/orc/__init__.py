"""Encrypted ORC in Spark: ``format("pme-orc")``, and Spark's own ``orc`` with our key provider."""
