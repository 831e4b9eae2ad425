"""Every operation in a store: what it leaves, how often it asks, and what happens if the store fails.

The tests of S3A are here, those of HDFS and of clouds in folders; `operations` and `races` are the same for all.
"""
