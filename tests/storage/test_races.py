"""Two runs at once on S3A."""

import pytest

from tests.storage.races import (
    test_a_rotation_refuses_to_run_next_to_one_that_does_something_else,
    test_readers_meanwhile_see_the_rows_or_fail_cleanly,
    test_the_first_finished_of_two_copies_to_one_target_wins,
    test_two_that_do_the_same_at_once_lose_nothing,
)
from tests.support import needs

pytestmark = [needs.test_all, needs.s3a, pytest.mark.all_rows]
