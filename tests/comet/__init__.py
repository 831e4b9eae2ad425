"""Apache DataFusion Comet beside this format, in one session."""
