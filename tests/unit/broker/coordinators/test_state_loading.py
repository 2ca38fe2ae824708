import logging
from typing import Any

import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.state_loading import report_failure

LOG = logging.getLogger("tidelog.broker.groups")


@pytest.mark.parametrize(
    ("error", "is_ours"),
    [
        (KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "no space left"), False),
        (OSError(5, "input/output error"), False),
        (IndexError("list index out of range"), True),
    ],
)
def test_a_failed_disk_is_told_in_a_line_and_our_own_faults_with_their_place(
    caplog: pytest.LogCaptureFixture, error: Exception, is_ours: bool
) -> None:
    partition: Any = "<Partition __consumer_offsets-3>"
    try:
        raise error
    except Exception as caught:
        report_failure(LOG, partition, "groups", caught)
    assert f"cannot be loaded, its groups are not served yet: {error}" in caplog.text
    assert ("Traceback" in caplog.text) == is_ours
