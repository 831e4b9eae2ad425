"""Operations on S3A that `make test` tries on HDFS."""

import pytest

from tests.support import needs
from tests.support.storage.operations import test_a_migration_of_orc

__all__ = ["test_a_migration_of_orc"]

pytestmark = [
    needs.s3a,
    pytest.mark.nightly,
]
