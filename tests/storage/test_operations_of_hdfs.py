"""Operations on S3A that `make test` tries on HDFS."""

import pytest

from tests.storage.operations import test_a_migration_of_orc
from tests.support import needs

pytestmark = [needs.s3a, pytest.mark.nightly]
