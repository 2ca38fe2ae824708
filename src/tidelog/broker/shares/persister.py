"""The persister: stores and reads the state of share partitions at their coordinators, wherever these are.

A request is split by coordinator. Where this broker is the coordinator, the shard is called directly; else
what one turn of the loop brings for one broker and one group shares a request. A coordinator that moves,
loads or cannot be reached is asked again, for a while.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.share_states import ShareStates
from tidelog.broker.peers.peers import Peers
from tidelog.broker.shares import coordinator_apis as apis
from tidelog.broker.shares.coordinator_apis import StateApi, asked_in
from tidelog.broker.shares.outbox import REQUEST_BATCHES, StateOutbox
from tidelog.broker.turns import names_in_turns
from tidelog.coordination.placement import CACHED_CHARS_MAX
from tidelog.shares.place import SharePlace, coordinator_key
from tidelog.wire.messages import delete_share_group_state as deleting
from tidelog.wire.messages import initialize_share_group_state as initializing
from tidelog.wire.messages import read_share_group_state as reading
from tidelog.wire.messages import read_share_group_state_summary as summing
from tidelog.wire.messages import write_share_group_state as writing

RETRY_SECONDS_MAX = 10.0
"""How long a request is tried again. Callers that need longer come again themselves."""
BEGUN_IN_A_TURN = 1000
"""What begins in one turn shares requests."""
BACKOFF_SECONDS = 0.05
BACKOFF_SECONDS_MAX = 1.0

RETRIABLE = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
    }
)


class SharePersister:
    def __init__(self, states: ShareStates, peers: Peers) -> None:
        self._states = states
        self._service = states.service
        self._peers = peers
        self._outbox = StateOutbox(peers)
        self._sequence = 0
        """Of the last write, and no less than what any read has shown: see `StateWrite.sequence`."""
        self._closed = False

    async def initialize(
        self, request: initializing.InitializeShareGroupStateRequest
    ) -> initializing.InitializeShareGroupStateResponse:
        response: initializing.InitializeShareGroupStateResponse = await self._ask(apis.INITIALIZE, request)
        return response

    async def read(self, request: reading.ReadShareGroupStateRequest) -> reading.ReadShareGroupStateResponse:
        response: reading.ReadShareGroupStateResponse = await self._ask(apis.READ, request)
        return response

    async def write(
        self, request: writing.WriteShareGroupStateRequest
    ) -> writing.WriteShareGroupStateResponse:
        response: writing.WriteShareGroupStateResponse = await self._ask(apis.WRITE, request)
        return response

    async def delete(
        self, request: deleting.DeleteShareGroupStateRequest
    ) -> deleting.DeleteShareGroupStateResponse:
        response: deleting.DeleteShareGroupStateResponse = await self._ask(apis.DELETE, request)
        return response

    async def read_summary(
        self, request: summing.ReadShareGroupStateSummaryRequest
    ) -> summing.ReadShareGroupStateSummaryResponse:
        response: summing.ReadShareGroupStateSummaryResponse = await self._ask(apis.READ_SUMMARY, request)
        return response

    async def close(self) -> None:
        """What is under way is answered with an error."""
        self._closed = True
        await self._outbox.close()

    async def _ask(self, api: StateApi, request: Any) -> Any:
        asked = list(asked_in(request))
        if len(asked) == 1:
            [(place, data)] = asked
            results = [await self._result(api, place, data)]
        else:
            results = await self._results(api, asked)
        return api.response_of(zip((place for place, _ in asked), results, strict=True))

    async def _results(self, api: StateApi, asked: list[tuple[SharePlace, Any]]) -> list[Any]:
        """All at once, and begun in turns: each looks for its coordinator by a key with the group id."""
        loop = asyncio.get_running_loop()
        tasks: list[asyncio.Task[Any]] = []
        try:
            async for piece in names_in_turns(asked, _uncached_chars, BEGUN_IN_A_TURN):
                tasks += [loop.create_task(self._result(api, place, data)) for place, data in piece]
            return await asyncio.gather(*tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            raise

    async def _result(self, api: StateApi, place: SharePlace, data: Any) -> Any:
        if api is apis.WRITE:
            return await self._write(place, data)
        if api is apis.READ:
            return await self._read(place, data)
        return await self._retried(api, place, lambda: data)

    async def _retried(self, api: StateApi, place: SharePlace, next_data: Callable[[], Any]) -> Any:
        """Returns the result of one partition, after as many tries as it takes and time allows."""
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + RETRY_SECONDS_MAX, BACKOFF_SECONDS
        while True:
            result = await self._try(api, place, next_data())
            if self._closed or loop.time() + pause >= deadline or not self._may_pass(place, result):
                return result
            await asyncio.sleep(pause)
            pause = min(pause * 2, BACKOFF_SECONDS_MAX)

    def _may_pass(self, place: SharePlace, result: Any) -> bool:
        """Whether the next try may bring another result."""
        if result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return self._states.has_partition(place.topic_id, place.partition)  # there, and soon known there
        return result.error_code in RETRIABLE

    async def _try(self, api: StateApi, place: SharePlace, data: Any) -> Any:
        key = coordinator_key(place)
        leader = self._service.leader_of(key)
        if leader is None or leader == self._peers.node_id:
            waits = self._ready(key)
            if waits is not None:
                try:
                    await waits
                except KafkaError as error:
                    return api.result_of(place.partition, error)
                leader = self._service.leader_of(key)
        if leader == self._peers.node_id:
            answer = api.run_at(self._states, place, data)
            if isinstance(answer, asyncio.Future):
                answer = await answer
            return api.result_of(place.partition, answer)
        if leader is None:
            none = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the state's partition has no leader")
            return api.result_of(place.partition, none)
        return await self._outbox.send(leader, api, place, data)

    def _ready(self, key: str) -> Awaitable[None] | None:
        """What to wait for before the coordinator on this broker can be asked, or there is one at all."""
        if not self._service.has_topic:
            return self._service.ensure_topic()
        return self._service.until_served(key)

    # Reads and writes

    async def _read(self, place: SharePlace, data: reading.PartitionData) -> reading.PartitionResult:
        result: reading.PartitionResult = await self._retried(apis.READ, place, lambda: data)
        self._sequence = max(self._sequence, result.write_sequence)
        return result

    async def _write(self, place: SharePlace, data: writing.PartitionData) -> writing.PartitionResult:
        batches = data.state_batches
        at = 0
        while len(batches) - at > REQUEST_BATCHES:
            some = batches[at : at + REQUEST_BATCHES]
            result: writing.PartitionResult = await self._retried(
                apis.WRITE, place, partial(self._numbered, data, some, more_follows=1)
            )
            if result.error_code:
                return result
            at += REQUEST_BATCHES
        rest = batches[at:] if at else batches
        result = await self._retried(apis.WRITE, place, partial(self._numbered, data, rest))
        return result

    def _numbered(
        self, data: writing.PartitionData, batches: list[writing.StateBatch], more_follows: int = 0
    ) -> writing.PartitionData:
        """Returns the write with the next sequence: each try has its own, so that a try whose response was
        lost has no effect if it arrives after a later write."""
        self._sequence += 1
        return writing.PartitionData(
            partition=data.partition,
            state_epoch=data.state_epoch,
            leader_epoch=data.leader_epoch,
            start_offset=data.start_offset,
            delivery_complete_count=data.delivery_complete_count,
            state_batches=batches,
            dead_letter_writes=data.dead_letter_writes,
            more_follows=more_follows,
            write_sequence=self._sequence,
            log_end=data.log_end,
        )


def _uncached_chars(asked: tuple[SharePlace, Any]) -> int:
    chars = len(asked[0].group_id)
    return chars if chars > CACHED_CHARS_MAX else 0
