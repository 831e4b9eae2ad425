"""Each operation on HDFS."""

from tests.support.storage.operations import (
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
