"""When the log of a coordinator may be read back, and how a failed load is reported."""

import asyncio
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.runtime.loading import report_failure, until_replicated

LOG = logging.getLogger("tidelog.broker.groups")


class LaggingPartition:
    """Its in-sync replicas do not have the log before its waiter is told so."""

    def __init__(self) -> None:
        self.log = SimpleNamespace(end=5)
        self.done: Callable[[KafkaError | None], None] | None = None

    def when_replicated(self, offset: int, done: Callable[[KafkaError | None], None]) -> bool:
        self.done = done
        return False


def wait_and_get(error: KafkaError | None) -> None:
    async def work() -> None:
        partition: Any = LaggingPartition()
        waiting = asyncio.ensure_future(until_replicated(partition))
        await asyncio.sleep(0)
        partition.done(error)
        await waiting

    run(work())


def test_the_wait_ends_once_the_in_sync_replicas_have_the_log() -> None:
    wait_and_get(None)


def test_a_former_leader_does_not_load() -> None:
    with pytest.raises(KafkaError):
        wait_and_get(KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER))


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
