"""Learns where the partitions end that groups of this broker read, also those that other brokers lead.

A sampler asks every few seconds: itself, or the leader with one ListOffsets request for all of its
partitions, and another for the log start offsets of those that queues read. The end is the high watermark, up
to which every consumer can read that does not wait for the end of transactions. Runs only on brokers that
serve metrics.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Coroutine, Iterable, Iterator

from tidelog.base.errors import ErrorCode, TidelogError
from tidelog.base.ids import ANY_REPLICA, NodeId, Offset
from tidelog.broker.metrics.end_history import EndHistory
from tidelog.broker.requests.context import Services
from tidelog.broker.turns import in_turns
from tidelog.replication.partition import Partition
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

SAMPLE_SECONDS = 5.0
PARTITIONS_MAX = 20_000
"""With a history of 900 bytes each, 18 MB. Others have no lag in the metrics, and are counted."""
PARTITIONS_A_REQUEST = 500
PARTITIONS_A_TURN = 100
ANSWER_SECONDS = 4.0
LANE = "lag"
VERSION = 6
LATEST = -1
EARLIEST = -2
READ_UNCOMMITTED = 0

Place = tuple[str, int]

log = logging.getLogger("tidelog.broker.lag")


class EndOffsets:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._histories: dict[Place, EndHistory] = {}
        self._starts: dict[Place, Offset] = {}
        """Log start offsets of partitions that share groups read, and others lead; 0 until they say."""
        self._round = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="ends of partitions")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def __len__(self) -> int:
        return len(self._histories)

    def find(self, place: Place) -> tuple[Offset, EndHistory] | None:
        """Returns the end, as far as is known, and the history; None where nothing is known yet."""
        history = self._histories.get(place)
        if history is None or not len(history):
            return None
        partition = self._led_here(place)
        return (history.end if partition is None else partition.high_watermark), history

    def start_of(self, place: Place) -> Offset:
        """Returns the log start offset of a partition that a share group reads, as far as is known."""
        partition = self._led_here(place)
        return self._starts.get(place, 0) if partition is None else partition.log.start

    async def _run(self) -> None:
        while True:
            try:
                await self.sample()
            except Exception:
                log.exception("the ends of partitions could not be sampled; again in %g s", SAMPLE_SECONDS)
            await asyncio.sleep(SAMPLE_SECONDS)

    async def sample(self) -> None:
        """One round: what groups read now, here and at the other leaders."""
        elsewhere = await self._sample_here()
        asking = [
            asking
            for leader, places in elsewhere.items()
            for first in range(0, len(places), PARTITIONS_A_REQUEST)
            for asking in self._questions(leader, places[first : first + PARTITIONS_A_REQUEST])
        ]
        if asking:
            await asyncio.gather(*asking)
        for place in [place for place, one in self._histories.items() if one.wanted_in != self._round]:
            del self._histories[place]
            self._starts.pop(place, None)

    async def _sample_here(self) -> dict[NodeId, list[Place]]:
        """Returns the partitions that others lead, by leader."""
        self._round += 1
        now, image = self._services.clock.monotonic(), self._services.metadata.image
        elsewhere: defaultdict[NodeId, list[Place]] = defaultdict(list)
        async for places in in_turns(self._wanted(), PARTITIONS_A_TURN):
            for place in places:
                history = self._history(place)
                if history is None or history.wanted_in == self._round:
                    continue
                history.wanted_in = self._round
                partition = self._led_here(place)
                if partition is not None:
                    if partition.high_watermark_is_current:
                        history.add(now, partition.high_watermark)
                elif (found := image.partition(*place)) is not None and found.leader >= 0:
                    elsewhere[found.leader].append(place)
        return elsewhere

    def _wanted(self) -> Iterator[Place]:
        for served in self._services.groups:
            offsets = served.shard_as_written.durable.offsets
            for group_id in list(offsets.group_ids()):
                for topic, partitions in list(offsets.of_group(group_id).items()):
                    for partition in list(partitions):
                        yield topic, partition
        topics = self._services.metadata.image.topics_by_id
        for shares in self._services.share_states.service:
            for place in list(shares.shard_as_written):
                if (of_queue := topics.get(place.topic_id)) is not None:
                    if (read := (of_queue.name, place.partition)) in self._histories:
                        self._starts.setdefault(read, 0)
                    yield read

    def _history(self, place: Place) -> EndHistory | None:
        history = self._histories.get(place)
        if history is None and len(self._histories) < PARTITIONS_MAX:
            history = self._histories[place] = EndHistory()
        return history

    def _led_here(self, place: Place) -> Partition | None:
        return self._services.partitions.led(*place)

    def _questions(self, leader: NodeId, places: list[Place]) -> Iterator[Coroutine[None, None, None]]:
        yield self._ask(leader, places)
        if of_queues := [place for place in places if place in self._starts]:
            yield self._ask_starts(leader, of_queues)

    async def _ask_starts(self, leader: NodeId, places: list[Place]) -> None:
        try:
            answer = await ask_ends(self._services, leader, places, EARLIEST)
        except (OSError, TidelogError) as error:
            log.debug("broker %d did not say where %d partitions start: %s", leader, len(places), error)
            return
        for topic in answer.topics:
            for one in topic.partitions:
                place = topic.name, one.partition_index
                if place in self._starts and one.error_code == ErrorCode.NONE:
                    self._starts[place] = max(0, one.offset)

    async def _ask(self, leader: NodeId, places: list[Place]) -> None:
        try:
            answer = await ask_ends(self._services, leader, places)
        except (OSError, TidelogError) as error:
            log.debug("broker %d did not say where %d partitions end: %s", leader, len(places), error)
            return
        now = self._services.clock.monotonic()
        answered = ((topic.name, one) for topic in answer.topics for one in topic.partitions)
        async for piece in in_turns(answered, PARTITIONS_A_TURN):
            for name, one in piece:
                history = self._histories.get((name, one.partition_index))
                if history is not None and one.error_code == ErrorCode.NONE and one.offset >= 0:
                    history.add(now, one.offset)


async def ask_ends(
    services: Services, leader: NodeId, places: Iterable[Place], timestamp: int = LATEST
) -> ListOffsetsResponse:
    """Where the partitions end that a broker leads, or start with EARLIEST. OSError or TidelogError where it
    does not say."""
    topics: dict[str, ListOffsetsTopic] = {}
    for topic, index in places:
        asked = topics.setdefault(topic, ListOffsetsTopic(name=topic, partitions=[]))
        asked.partitions.append(ListOffsetsPartition(partition_index=index, timestamp=timestamp))
    request = ListOffsetsRequest(
        replica_id=ANY_REPLICA, isolation_level=READ_UNCOMMITTED, topics=list(topics.values())
    )
    answer: ListOffsetsResponse = await services.peers.call(
        leader, ApiKey.LIST_OFFSETS, VERSION, request, timeout=ANSWER_SECONDS, lane=LANE
    )
    return answer
