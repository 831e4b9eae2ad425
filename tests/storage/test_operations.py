"""Each operation on S3A."""

import pytest

from tests.storage.operations import test_copies, test_in_place, test_rotations, test_streams, test_writes_and_reads
from tests.support import needs

pytestmark = [needs.s3a, pytest.mark.rows(1)]
