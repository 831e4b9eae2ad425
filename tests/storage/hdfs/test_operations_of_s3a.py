"""Operations on HDFS that `make test` tries on S3A, and of which it kills a copy here."""

import pytest

from tests.storage.operations import test_copies, test_streams

pytestmark = pytest.mark.nightly
