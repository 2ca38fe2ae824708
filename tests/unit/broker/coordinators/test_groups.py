"""When the log of groups may be read back: once all of it is on every replica that is in sync."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.state_loading import until_held


class Waiting:
    """A partition that is not safe before its waiter is told so."""

    def __init__(self) -> None:
        self.log = SimpleNamespace(end=5)
        self.done: Callable[[KafkaError | None], None] | None = None

    def when_replicated(self, offset: int, done: Callable[[KafkaError | None], None]) -> bool:
        self.done = done
        return False


def settle(error: KafkaError | None) -> None:
    async def work() -> None:
        partition: Any = Waiting()
        waiting = asyncio.ensure_future(until_held(partition))
        await asyncio.sleep(0)
        partition.done(error)
        await waiting

    run(work())


def test_safe_is_safe() -> None:
    settle(None)


def test_a_leader_that_is_none_any_more_does_not_serve() -> None:
    with pytest.raises(KafkaError):
        settle(KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER))
