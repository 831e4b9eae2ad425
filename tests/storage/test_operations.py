"""Each operation on S3A."""

import pytest

from tests.storage.operations import test_copies, test_in_place, test_rotations, test_streams, test_writes_and_reads
from tests.support.storage import s3

__all__ = ["test_copies", "test_in_place", "test_rotations", "test_streams", "test_writes_and_reads"]

pytestmark = [
    pytest.mark.skipif(not s3.FITS, reason="hadoop-aws of the tests is for the newest Spark"),
    pytest.mark.all_rows,
]
