"""Stores that run while a test does: S3 (`s3`), HDFS (`hdfs`), and a directory in one of them for jobs (`lakes`)."""
