"""Each operation on HDFS: the tests are those of S3A, in a place of this folder."""

from tests.storage.test_operations import (
    test_a_migration_of_orc,
    test_copies,
    test_in_place,
    test_rotations,
    test_streams,
    test_writes_and_reads,
)

__all__ = [
    "test_a_migration_of_orc",
    "test_copies",
    "test_in_place",
    "test_rotations",
    "test_streams",
    "test_writes_and_reads",
]
