"""Each operation on HDFS."""

import pytest

from tests.storage.operations import test_a_migration_of_orc, test_in_place, test_rotations, test_writes_and_reads

pytestmark = pytest.mark.oldest
