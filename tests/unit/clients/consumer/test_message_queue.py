"""Messages cross from the thread to the loop in order, and errors where they belong."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tidelog import Message, TimestampType, TopicPartition
from tidelog.clients.consumer.message_queue import MessageQueue


def message(partition: int, offset: int) -> Message[Any, Any]:
    return Message("t", partition, offset, None, TimestampType.NOT_AVAILABLE, None, None, (), None)


def offsets(messages: list[Message[Any, Any]]) -> list[int]:
    return [each.offset for each in messages]


def on_a_loop(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def test_order_limit_and_errors() -> None:
    async def scenario() -> None:
        queue = MessageQueue(asyncio.get_running_loop(), lambda: None)
        queue.put([message(0, 0), message(0, 1), ValueError("x"), message(0, 2)])
        assert len(queue) == 4
        assert offsets(queue.take(1)) == [0]
        assert offsets(queue.take(10)) == [1]
        with pytest.raises(ValueError, match="x"):
            queue.take(10)
        assert offsets(queue.take(10)) == [2]
        assert queue.take(10) == []

    on_a_loop(scenario())


def test_what_is_dropped_is_gone_and_errors_stay() -> None:
    async def scenario() -> None:
        queue = MessageQueue(asyncio.get_running_loop(), lambda: None)
        queue.put([message(0, 0), ValueError("x"), message(1, 1)])
        queue.drop([TopicPartition("t", 0)])
        with pytest.raises(ValueError, match="x"):
            queue.take(10)
        assert offsets(queue.take(10)) == [1]

    on_a_loop(scenario())


def test_whoever_waits_is_woken_from_another_thread_and_is_seen_waiting() -> None:
    async def scenario() -> None:
        wakes: list[bool] = []
        queue = MessageQueue(asyncio.get_running_loop(), lambda: wakes.append(queue.is_wanted))
        waiting = asyncio.create_task(queue.wait(None))
        await asyncio.sleep(0)
        assert wakes == [True]
        await asyncio.to_thread(queue.put, [message(0, 0)])
        await waiting
        assert not queue.is_wanted
        assert offsets(queue.take(1)) == [0]

    on_a_loop(scenario())


def test_waiting_ends_with_the_time_or_at_once_if_something_is_there() -> None:
    async def scenario() -> None:
        queue = MessageQueue(asyncio.get_running_loop(), lambda: None)
        await queue.wait(0.001)
        assert not queue.is_wanted
        queue.put([message(0, 0)])
        await queue.wait(None)

    on_a_loop(scenario())
