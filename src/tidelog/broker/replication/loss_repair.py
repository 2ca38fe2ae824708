"""Asks other replicas for records that this broker's logs lost to damage, while no broker leads them.

Where a partition has a leader, a damaged replica follows as any other: see `Follower.truncate_at_lost`. This
is for the last in-sync replica of a partition, without which no leader is elected.
"""

import logging
from collections.abc import Awaitable, Callable

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ANY_REPLICA, NodeId
from tidelog.base.ports import Clock
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.peers.peers import Peers
from tidelog.replication.partition import Partition
from tidelog.replication.repair import Repair, RepairPosition, awaits_repair
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)

REPAIR_SECONDS = 0.5
VERSION = 17
LANE = "repair"
TIMEOUT_SECONDS = 10.0
FETCH_BYTES = 4 << 20
NO_SESSION_EPOCH = -1

log = logging.getLogger("tidelog.broker.repair")


class LossRepair:
    def __init__(
        self,
        partitions: HostedPartitions,
        peers: Peers,
        clock: Clock,
        run_in_thread: RunInThread,
        report: Callable[[], Awaitable[None]],
    ) -> None:
        """`report` sends the controller the list of damaged replicas."""
        self._partitions = partitions
        self._peers = peers
        self._clock = clock
        self._run_in_thread = run_in_thread
        self._report = report
        self._reported: dict[tuple[Partition, NodeId], str] = {}

    async def run_once(self) -> None:
        """Try each damaged log once with each replica; nothing to do is the rule."""
        for partition in [one for one in self._partitions if awaits_repair(one)]:
            for node in partition.replicas:
                if node != partition.node_id and awaits_repair(partition):
                    await self._try(partition, node)

    async def _try(self, partition: Partition, node: NodeId) -> None:
        lost = partition.log.lost
        try:
            if not await self._repair(Repair(partition), partition, node):
                return
        except OSError as error:
            self._tell(partition, node, f"cannot be asked: {str(error) or type(error).__name__}")
        except KafkaError as error:
            self._tell(partition, node, f"cannot give them back: {error.message or error.code.name}")
        else:
            name = f"{partition.topic}-{partition.index}"
            log.warning("%s: offsets %s are back, from the replica on broker %d", name, lost, node)
            await self._report()

    async def _repair(self, repair: Repair, partition: Partition, node: NodeId) -> bool:
        """False where the partition got a leader meanwhile: the replica copies what it lost from that one."""
        await self._fetch(partition, node, repair.proof(), bytes_max=0)
        if not repair.is_due:
            return False
        for deletion in repair.begin():
            await self._run_in_thread(deletion.run)
        while not repair.is_done:
            answer = await self._fetch(partition, node, repair.next(), bytes_max=FETCH_BYTES)
            if not repair.is_due:
                return False
            records = answer.records if isinstance(answer.records, memoryview) else memoryview(b"")
            if not repair.take(records, self._clock.now_ms()):
                raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, "it holds less than it proved to hold")
        flush = partition.log.begin_flush()
        if flush is not None:
            await self._run_in_thread(flush.run)
            partition.log.finish_flush(flush)
        if not repair.is_due:
            return False
        repair.finish()
        return True

    async def _fetch(
        self, partition: Partition, node: NodeId, position: RepairPosition, *, bytes_max: int
    ) -> PartitionData:
        """KafkaError where the replica does not have the same log up to the position."""
        asked = FetchPartition(
            partition=partition.index,
            fetch_offset=position.offset,
            last_fetched_epoch=position.last_epoch,
            partition_max_bytes=bytes_max,
        )
        request = FetchRequest(
            replica_state=ReplicaState(replica_id=ANY_REPLICA),
            max_bytes=bytes_max,
            session_epoch=NO_SESSION_EPOCH,
            topics=[FetchTopic(topic_id=partition.topic_id, partitions=[asked])],
        )
        answer: FetchResponse = await self._peers.call(
            node, ApiKey.FETCH, VERSION, request, timeout=TIMEOUT_SECONDS, lane=LANE
        )
        code = ErrorCode.of(answer.error_code)
        if code is not ErrorCode.NONE or not answer.responses:
            raise KafkaError(code, f"it answers {code.name}")
        [given] = answer.responses[0].partitions
        code = ErrorCode.of(given.error_code)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            raise KafkaError(code, "it does not have them")
        if code is not ErrorCode.NONE:
            raise KafkaError(code, f"it answers {code.name}")
        if given.diverging_epoch is not None and given.diverging_epoch.end_offset >= 0:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, "its log is another one")
        return given

    def _tell(self, partition: Partition, node: NodeId, why: str) -> None:
        """Once for each reason: this is tried again and again."""
        if self._reported.get((partition, node)) != why:
            self._reported[partition, node] = why
            log.error(
                "%s-%d misses offsets %s and has no leader; the replica on broker %d %s. "
                "It is asked again; if no replica has them, accept the loss: "
                "tidelog cluster elect-leaders --unclean %s:%d",
                *(partition.topic, partition.index, partition.log.lost, node, why),
                *(partition.topic, partition.index),
            )
