"""Tests of KMS clients without Spark: what a client makes of each thing that its server, or the network, does wrong.

That Spark's reads and writes end so is tested beside this folder, with one row of each kind.
"""
