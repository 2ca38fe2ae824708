"""A persister in memory for groups: initializes, deletes and sums up state, and fails on demand."""

import asyncio
from typing import Any, NamedTuple

from tests.rigs.shares import FakeStore
from tidelog.base.errors import ErrorCode
from tidelog.wire.messages import delete_share_group_state as delete
from tidelog.wire.messages import initialize_share_group_state as initialize
from tidelog.wire.messages import read_share_group_state_summary as summary


class Stored(NamedTuple):
    state_epoch: int
    start_offset: int
    leader_epoch: int = 0
    delivery_complete_count: int = 0


class FakePersister(FakeStore):
    def __init__(self) -> None:
        super().__init__()
        self.states: dict[tuple[str, bytes, int], Stored] = {}
        self.calls: list[str] = []
        """What it was asked to do."""
        self.refuses = ErrorCode.NONE
        """The error of every partition, while it is one."""
        self.held: asyncio.Event | None = None
        """Calls wait for it."""

    async def initialize(self, request: Any) -> initialize.InitializeShareGroupStateResponse:
        await self._called("initialize")
        results = []
        for topic in request.topics:
            for one in topic.partitions:
                if not self.refuses:
                    place = request.group_id, topic.topic_id, one.partition
                    self.states[place] = Stored(one.state_epoch, one.start_offset)
            partitions = [
                initialize.PartitionResult(partition=one.partition, error_code=self.refuses)
                for one in topic.partitions
            ]
            results.append(initialize.InitializeStateResult(topic_id=topic.topic_id, partitions=partitions))
        return initialize.InitializeShareGroupStateResponse(results=results)

    async def delete(self, request: Any) -> delete.DeleteShareGroupStateResponse:
        await self._called("delete")
        results = []
        for topic in request.topics:
            for one in topic.partitions:
                if not self.refuses:
                    self.states.pop((request.group_id, topic.topic_id, one.partition), None)
            partitions = [
                delete.PartitionResult(partition=one.partition, error_code=self.refuses)
                for one in topic.partitions
            ]
            results.append(delete.DeleteStateResult(topic_id=topic.topic_id, partitions=partitions))
        return delete.DeleteShareGroupStateResponse(results=results)

    async def read_summary(self, request: Any) -> summary.ReadShareGroupStateSummaryResponse:
        await self._called("read_summary")
        results = [
            summary.ReadStateSummaryResult(
                topic_id=topic.topic_id,
                partitions=[
                    self._summed_up(request.group_id, topic.topic_id, one.partition)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return summary.ReadShareGroupStateSummaryResponse(results=results)

    def _summed_up(self, group_id: str, topic_id: bytes, partition: int) -> summary.PartitionResult:
        stored = self.states.get((group_id, topic_id, partition), Stored(0, -1, 0, -1))
        return summary.PartitionResult(
            partition=partition,
            error_code=self.refuses,
            state_epoch=stored.state_epoch,
            leader_epoch=stored.leader_epoch,
            start_offset=stored.start_offset,
            delivery_complete_count=stored.delivery_complete_count,
        )

    async def _called(self, what: str) -> None:
        self.calls.append(what)
        await asyncio.sleep(0)
        if self.held is not None:
            await self.held.wait()
