"""The paths that a user of Python takes, each once; `jvm/spark` compares everything else with Spark's own source."""
