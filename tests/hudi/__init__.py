"""Tables of Apache Hudi with our crypto factory, and what `pme.hudi.check` says of tables."""
