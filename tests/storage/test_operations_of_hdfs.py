"""Operations on S3A that `make test` tries on HDFS."""

import pytest

from tests.storage.operations import test_a_migration_of_orc
from tests.support.storage import s3a

__all__ = ["test_a_migration_of_orc"]

pytestmark = [
    pytest.mark.skipif(not s3a.FITS, reason="hadoop-aws of the tests is for the newest Spark"),
    pytest.mark.nightly,
]
