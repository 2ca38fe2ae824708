"""Requests to share coordinators on other brokers: what one turn of the loop brings for one broker and one
group shares a request.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any, TypeAlias

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId
from tidelog.broker.peers.peers import Peers
from tidelog.broker.shares.coordinator_apis import StateApi
from tidelog.shares.place import SharePlace

CALL_SECONDS = 8.0
"""More than the coordinator waits for a commit, `share.coordinator.write.timeout.ms`."""
REQUEST_BATCHES = 20_000
"""State batches in one request: a message has limits."""
LANE = "share state"

Asked: TypeAlias = "tuple[SharePlace, Any, asyncio.Future[Any]]"

log = logging.getLogger("tidelog.broker.shares")


class StateOutbox:
    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._waiting: dict[tuple[NodeId, StateApi, str], list[Asked]] = {}
        self._calls: set[asyncio.Task[None]] = set()
        self._closed = False

    async def close(self) -> None:
        """What is under way is answered with an error."""
        self._closed = True
        calls = tuple(self._calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    def send(self, node: NodeId, api: StateApi, place: SharePlace, data: Any) -> "asyncio.Future[Any]":
        """Returns the result of the partition. It has an error if the broker gives none."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Any] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._send_all)
        self._waiting.setdefault((node, api, place.group_id), []).append((place, data, result))
        return result

    def _send_all(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for (node, api, group_id), asked in waiting.items():
            for some in _in_requests(asked):
                if self._closed:
                    _fail(api, some, "this broker stops")
                    continue
                call = self._call(node, api, group_id, some)
                task = asyncio.get_running_loop().create_task(call, name="share state request")
                self._calls.add(task)
                task.add_done_callback(partial(self._called, api, some))

    async def _call(self, node: NodeId, api: StateApi, group_id: str, asked: list[Asked]) -> None:
        request = api.request_of(group_id, ((place, data) for place, data, _ in asked))
        try:
            response = await self._peers.call(
                node, api.key, api.version, request, timeout=CALL_SECONDS, lane=LANE
            )
        except OSError as error:
            _fail(api, asked, f"broker {node} cannot be reached: {str(error) or type(error).__name__}")
            return
        waiting: dict[SharePlace, deque[asyncio.Future[Any]]] = {}
        for place, _, result in asked:
            waiting.setdefault(place, deque()).append(result)
        for topic in response.results:
            for one in topic.partitions:
                results = waiting.get(SharePlace(group_id, topic.topic_id, one.partition))
                if results and not (result := results.popleft()).done():
                    result.set_result(one)
        _fail(api, asked, f"broker {node} gave no result for the share partition")

    def _called(self, api: StateApi, asked: list[Asked], task: "asyncio.Task[None]") -> None:
        """No caller waits for ever, also where the broker stops."""
        self._calls.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("a request to a share coordinator failed", exc_info=error)
        _fail(api, asked, "this broker stops" if error is None else str(error))


def _fail(api: StateApi, asked: list[Asked], reason: str) -> None:
    """Answers those that have no result."""
    for place, _, result in asked:
        if not result.done():
            error = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, reason)
            result.set_result(api.result_of(place.partition, error))


def _in_requests(asked: list[Asked]) -> Iterator[list[Asked]]:
    """Splits what does not fit one message."""
    some: list[Asked] = []
    room = REQUEST_BATCHES
    for one in asked:
        batches = len(getattr(one[1], "state_batches", ()))
        if some and room < batches:
            yield some
            some, room = [], REQUEST_BATCHES
        some.append(one)
        room -= batches
    yield some
