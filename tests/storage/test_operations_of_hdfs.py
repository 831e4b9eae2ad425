"""Operations on S3A that `make test` tries on HDFS."""

import pytest

from tests.storage.operations import test_a_migration_of_orc
from tests.support.storage import s3

__all__ = ["test_a_migration_of_orc"]

pytestmark = [
    pytest.mark.skipif(not s3.FITS, reason="hadoop-aws of the tests is for the newest Spark"),
    pytest.mark.nightly,
]
