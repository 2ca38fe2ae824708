"""What leaders say of a share partition, as the commands show it."""

import pytest

from tidelog.cli.queue.looking import _reported
from tidelog.wire.messages.describe_share_partitions import DescribedSharePartition


@pytest.mark.parametrize(("log_start", "depth"), [(-1, 96), (0, 96), (90, 7), (100, 0)])
def test_depth_is_without_records_that_retention_took(log_start: int, depth: int) -> None:
    part = DescribedSharePartition(
        topic_name="jobs", start_offset=1, readable_end=100, done=3, log_start_offset=log_start
    )
    seen = _reported(part, leader=1)
    assert (seen.start_offset, seen.depth) == (1, depth)
