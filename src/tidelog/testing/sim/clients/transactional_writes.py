"""Batches of a transaction on their way to one partition: several at a time, in order, until all are clear.

When the first that is not written yet is refused for good, so are those behind it.
"""

import asyncio
from collections.abc import Callable

from tidelog.base.errors import ErrorCode
from tidelog.testing.sim.clients.client import ERRORS, Address, Client
from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.produce import ProduceRequest

PATIENCE_SECONDS = 6.0
ANSWER_SECONDS = 1.5

COME_BACK = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.NETWORK_EXCEPTION,
}
"""After these the same request may be made again."""


class TransactionalBatch:
    __slots__ = ("maybe_written", "offset", "sequence", "values")

    def __init__(self, values: list[str], sequence: int) -> None:
        self.values = values
        self.sequence = sequence
        self.offset: int | None = None
        """-1: it is written, at an offset that no answer named."""
        self.maybe_written = False


class Writes:
    def __init__(
        self,
        loop: SimLoop,
        client: Client,
        place: tuple[str, int],
        batches: list[TransactionalBatch],
        *,
        version: int,
        request_of: Callable[[TransactionalBatch], ProduceRequest],
    ) -> None:
        self._loop = loop
        self._client = client
        self._place = place
        self._left = batches
        self._has_several = len(batches) > 1
        self._version = version
        self._request_of = request_of
        self.may_be_forgotten = False
        """The first of those that are left may have been written before others were, and lie too far back: a
        leader that was started again knows the last batch of a producer, and not always those before it."""

    async def run(self) -> ErrorCode | None:
        """NONE once all are written, None if no answer came, else why the first that is left was refused."""
        deadline = self._loop.now + PATIENCE_SECONDS
        while self._left:
            if self._loop.now >= deadline:
                return None
            leader = await self._client.leader_of(*self._place)
            if leader is not None:
                were_sent = [one.maybe_written for one in self._left]
                # Pipelined: on one connection they arrive in this order, or not at all.
                codes = await asyncio.gather(*(self._attempt(leader[0], one) for one in self._left))
                self._left = [one for one in self._left if one.offset is None]
                if self._left:
                    first = next(number for number, code in enumerate(codes) if code is not ErrorCode.NONE)
                    self.may_be_forgotten = were_sent[first] and self._has_several
                    if codes[first] is not None and codes[first] not in COME_BACK:
                        return codes[first]
            if self._left:
                await self._client.pause()
                await self._client.refresh([self._place[0]])
        return ErrorCode.NONE

    async def _attempt(self, address: Address, batch: TransactionalBatch) -> ErrorCode | None:
        try:
            answer = await self._client.call(
                address, ApiKey.PRODUCE, self._version, self._request_of(batch), ANSWER_SECONDS
            )
        except OSError:
            batch.maybe_written = True
            return None
        partition = answer.responses[0].partition_responses[0]
        code = ERRORS[partition.error_code]
        if code is ErrorCode.NONE:
            batch.offset = int(partition.base_offset)
        elif code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            batch.offset, code = -1, ErrorCode.NONE
        else:
            batch.maybe_written = batch.maybe_written or code in COME_BACK
        return code
