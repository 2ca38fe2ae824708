"""Asks the controller to change in-sync sets: out with followers that lag, in with those that caught up.

One request is under way at a time, with all changes that are wanted; changes that come up meanwhile share
the next.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode
from tidelog.base.ids import Epoch, NodeId, Uuid
from tidelog.base.ports import Clock
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.peers.peers import Peers
from tidelog.broker.turns import in_turns
from tidelog.metadata.image.image import ClusterImage
from tidelog.replication.partition import CommittedIsr, IsrProposal, Partition
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    BrokerState,
)

VERSION = 3
LANE = "in-sync sets"
ANSWER_SECONDS = 30.0
RETRY_SECONDS = 0.1
RETRY_SECONDS_MAX = 2.0
CHANGES_MAX = 1_000
"""In one request."""
NAMES_MAX = 3
"""In a line of the log."""

_NOT_DECIDED = {ErrorCode.NOT_CONTROLLER, ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.KAFKA_STORAGE_ERROR}

log = logging.getLogger("tidelog.broker.isr")


class IsrKeeper:
    def __init__(
        self,
        partitions: HostedPartitions,
        peers: Peers,
        clock: Clock,
        *,
        config: Callable[[], BrokerConfig],
        image: Callable[[], ClusterImage],
        broker_epoch: Callable[[], Epoch],
    ) -> None:
        self._partitions = partitions
        self._peers = peers
        self._clock = clock
        self._config = config
        self._image = image
        self._broker_epoch = broker_epoch
        self._wanted: dict[Partition, IsrProposal] = {}
        self._awake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._run(), name="in-sync sets"),
            loop.create_task(self._check_by_the_clock(), name="lagging followers"),
        ]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def _check_by_the_clock(self) -> None:
        while True:
            await asyncio.sleep(self._lag_max / 2)
            try:
                await self.check_all()
            except Exception:
                log.exception("not all in-sync sets could be checked; again in %g s", self._lag_max / 2)

    @property
    def _lag_max(self) -> float:
        return self._config().int("replica.lag.time.max.ms") / 1000

    async def check_all(self) -> None:
        """Look for followers that have fallen behind."""
        async for piece in in_turns(self._partitions):
            for partition in piece:
                if partition.is_leader:
                    self.consider(partition)

    def consider(self, partition: Partition) -> None:
        """A follower of this partition may have caught up, or fallen behind."""
        leader = partition.leader
        if leader is None:
            return
        proposal = leader.isr_wanted(self._clock.monotonic(), self._lag_max, self._is_eligible)
        if proposal is None or proposal == self._wanted.get(partition):
            return
        log.debug("%s: in sync are %s, to be %s", _name(partition), partition.isr, proposal.isr)
        self._wanted[partition] = proposal
        self._awake.set()

    def _is_eligible(self, node_id: NodeId) -> bool:
        broker = self._image().brokers.get(node_id)
        return broker is not None and broker.is_active

    async def _run(self) -> None:
        pause = RETRY_SECONDS
        while True:
            await self._awake.wait()
            self._awake.clear()
            batch = self._next_batch()
            if not batch:
                continue
            if self._wanted:
                self._awake.set()
            _tell(batch)
            again = await self._ask(batch)
            if not again:
                pause = RETRY_SECONDS
                continue
            for partition, proposal in again.items():
                self._wanted.setdefault(partition, proposal)
            self._awake.set()
            await asyncio.sleep(pause)
            pause = min(2 * pause, RETRY_SECONDS_MAX)

    def _next_batch(self) -> dict[Partition, IsrProposal]:
        """From now on both the old sets and the new ones count, until it is known which one holds."""
        batch: dict[Partition, IsrProposal] = {}
        while self._wanted and len(batch) < CHANGES_MAX:
            partition, proposal = next(iter(self._wanted.items()))
            del self._wanted[partition]
            leader = partition.leader
            if leader is None:
                continue
            # Neither where the metadata changed since.
            if leader.is_pending(proposal) or leader.isr_proposed(proposal):
                batch[partition] = proposal
        return batch

    async def _ask(self, batch: dict[Partition, IsrProposal]) -> dict[Partition, IsrProposal]:
        """Returns the proposals whose outcome is unknown: the same ones must be sent again."""
        try:
            answer: AlterPartitionResponse = await self._peers.call_controller(
                ApiKey.ALTER_PARTITION, VERSION, self._request(batch), timeout=ANSWER_SECONDS, lane=LANE
            )
        except OSError as error:
            log.warning("%d changes of in-sync sets did not reach the controller: %s", len(batch), error)
            return batch
        except Exception:
            # This broker may be the controller itself. Were this the end, no in-sync set would ever change.
            log.exception("%d changes of in-sync sets failed inside this broker; trying again", len(batch))
            return batch
        if answer.error_code:
            # Such as STALE_BROKER_EPOCH: this broker is about to be registered anew, or has been replaced.
            log.warning("changes of in-sync sets were refused: %s", ErrorCode.of(answer.error_code).name)
            return batch
        answers = {
            (topic.topic_id, one.partition_index): one for topic in answer.topics for one in topic.partitions
        }
        again = {}
        for partition, proposal in batch.items():
            one = answers.get((partition.topic_id, partition.index))
            if one is None or not self._resolve(partition, proposal, one):
                again[partition] = proposal
        return again

    def _resolve(
        self, partition: Partition, proposal: IsrProposal, answer: AlterPartitionResponsePartitionData
    ) -> bool:
        leader, code = partition.leader, ErrorCode.of(answer.error_code)
        if leader is None:
            return True  # another broker leads now, and the metadata say which replicas are in sync
        if code is ErrorCode.NONE:
            committed = CommittedIsr(answer.leader_epoch, tuple(answer.isr), answer.partition_epoch)
            leader.isr_answered(proposal, None, committed)
            return True
        log.debug("%s: its new in-sync set is refused: %s", _name(partition), code.name)
        leader.isr_answered(proposal, code)
        # What is still pending then waits for the metadata that made it stale; asking again would not help.
        return code not in _NOT_DECIDED

    def _request(self, batch: dict[Partition, IsrProposal]) -> AlterPartitionRequest:
        topics: dict[Uuid, AlterPartitionRequestTopicData] = {}
        me, my_epoch = self._peers.node_id, self._broker_epoch()
        for partition, proposal in batch.items():
            topic = topics.get(partition.topic_id)
            if topic is None:
                topic = AlterPartitionRequestTopicData(topic_id=partition.topic_id)
                topics[partition.topic_id] = topic
            members = zip(proposal.isr, proposal.broker_epochs, strict=True)
            topic.partitions.append(
                AlterPartitionRequestPartitionData(
                    partition_index=partition.index,
                    leader_epoch=proposal.leader_epoch,
                    partition_epoch=proposal.partition_epoch,
                    new_isr_with_epochs=[
                        BrokerState(broker_id=node, broker_epoch=my_epoch if node == me else epoch)
                        for node, epoch in members
                    ],
                )
            )
        return AlterPartitionRequest(broker_id=me, broker_epoch=my_epoch, topics=list(topics.values()))


def _tell(batch: dict[Partition, IsrProposal]) -> None:
    """A line for each broker that comes or goes: one that is restarted follows hundreds of partitions."""
    joined: defaultdict[NodeId, list[str]] = defaultdict(list)
    left: defaultdict[NodeId, list[str]] = defaultdict(list)
    for partition, proposal in batch.items():
        for node in set(proposal.isr) - set(partition.isr):
            joined[node].append(_name(partition))
        for node in set(partition.isr) - set(proposal.isr):
            left[node].append(_name(partition))
    for node, names in sorted(joined.items()):
        log.info("broker %d has caught up: %s", node, _shortened(names))
    for node, names in sorted(left.items()):
        log.warning("broker %d has fallen behind: %s", node, _shortened(names))


def _name(partition: Partition) -> str:
    return f"{partition.topic}-{partition.index}"


def _shortened(names: list[str]) -> str:
    more = len(names) - NAMES_MAX
    return ", ".join(names[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")
