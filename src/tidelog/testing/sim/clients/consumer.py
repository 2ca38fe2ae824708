"""A consumer of all partitions of some topics: it reads forward for ever and tells what it saw."""

from tidelog.base.errors import ErrorCode
from tidelog.testing.history import History, Operation, Read
from tidelog.testing.sim.clients.client import Address, Client
from tidelog.testing.sim.clients.fetched import batches
from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from tidelog.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

FETCH_VERSION = 12
LIST_OFFSETS_VERSION = 7
LATEST = -1
PARTITION_BYTES = 4096

Place = tuple[str, int]


class SimConsumer:
    def __init__(
        self,
        loop: SimLoop,
        client: Client,
        history: History,
        topics: dict[str, int],
        *,
        wait_ms: int = 300,
        committed_only: bool = False,
    ) -> None:
        self._loop = loop
        self._client = client
        self._history = history
        self._topics = list(topics)
        self._wait_ms = wait_ms
        self._committed_only = committed_only
        self.positions: dict[Place, int] = {
            (name, index): 0 for name, count in topics.items() for index in range(count)
        }
        self._watermarks: dict[tuple[Place, int], int] = {}
        self.complaints: list[str] = []
        """Answers that a broker must not give."""
        self.is_stopping = False

    @property
    def name(self) -> str:
        return self._client.name

    async def run(self) -> None:
        self._history.add(
            Operation(self._client.name, "assign", started=self._loop.now, ended=self._loop.now)
        )
        await self._client.refresh(self._topics)
        while not self.is_stopping:
            await self.poll()

    async def poll(self) -> None:
        """One fetch from each leader, after the other."""
        by_leader: dict[Address, list[tuple[Place, int]]] = {}
        for place in self.positions:
            led = self._client.leaders.get(place)
            address = self._client.brokers.get(led.leader) if led is not None else None
            if led is not None and address is not None:
                by_leader.setdefault(address, []).append((place, led.epoch))
        # Without a leader no answer has it: only new metadata names the next one.
        troubled = sum(map(len, by_leader.values())) < len(self.positions)
        for address, places in by_leader.items():
            troubled = not await self._fetch(address, places, self._wait_ms // len(by_leader)) or troubled
        if troubled:
            await self._client.pause()
            await self._client.refresh(self._topics)

    async def _fetch(self, address: Address, places: list[tuple[Place, int]], wait_ms: int) -> bool:
        """Whether all went well."""
        started = self._loop.now
        topics: dict[str, FetchTopic] = {}
        for (name, index), epoch in places:
            topic = topics.setdefault(name, FetchTopic(topic=name, partitions=[]))
            topic.partitions.append(
                FetchPartition(
                    partition=index,
                    current_leader_epoch=epoch,
                    fetch_offset=self.positions[name, index],
                    partition_max_bytes=PARTITION_BYTES,
                )
            )
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            isolation_level=int(self._committed_only),
            topics=list(topics.values()),
        )
        try:
            answer: FetchResponse = await self._client.call(
                address, ApiKey.FETCH, FETCH_VERSION, request, wait_ms / 1000 + 1.5
            )
        except OSError:
            return False
        epochs = dict(places)
        fine = not answer.error_code
        read: list[Read] = []
        for topic_answer in answer.responses:
            for data in topic_answer.partitions:
                place = topic_answer.topic, data.partition_index
                fine = self._take(place, epochs[place], data, read) and fine
        if read:
            self._history.add(
                Operation(
                    self._client.name,
                    "poll",
                    started=started,
                    ended=self._loop.now,
                    read=read,
                    committed_only=self._committed_only,
                )
            )
        return fine

    def _take(self, place: Place, epoch: int, data: PartitionData, read: list[Read]) -> bool:
        name = f"{place[0]}-{place[1]}"
        if data.error_code:
            if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                self.complaints.append(
                    f"{self._client.name} read {name} up to {self.positions[place]}, which the leader of "
                    f"epoch {epoch} does not have"
                )
            return False
        # Within a leader's time; a new one may need a moment to learn how far its predecessor had come.
        before = self._watermarks.get((place, epoch), 0)
        if data.high_watermark < before:
            self.complaints.append(
                f"the high watermark of {name} went from {before} to {data.high_watermark} in epoch {epoch}"
            )
        self._watermarks[place, epoch] = data.high_watermark
        limit = data.last_stable_offset if self._committed_only else data.high_watermark
        for batch in batches(data, committed_only=self._committed_only):
            if batch.end > limit and batch.records:
                self.complaints.append(f"{name} gave offset {batch.end - 1}, and may be read up to {limit}")
            for record in batch.records:
                if record.offset >= self.positions[place]:
                    read.append(Read(name, record.offset, bytes(record.value or b"").decode()))
            self.positions[place] = max(self.positions[place], batch.end)
        return True

    async def ends(self) -> dict[Place, int] | None:
        """How far each partition may be read now; None where a leader does not say."""
        offsets: dict[Place, int] = {}
        for name, index in self.positions:
            where = await self._client.leader_of(name, index)
            if where is None:
                return None
            address, led = where
            asked = ListOffsetsPartition(
                partition_index=index, current_leader_epoch=led.epoch, timestamp=LATEST
            )
            request = ListOffsetsRequest(
                replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=[asked])]
            )
            try:
                answer = await self._client.call(
                    address, ApiKey.LIST_OFFSETS, LIST_OFFSETS_VERSION, request, 1.0
                )
            except OSError:
                return None
            partition = answer.topics[0].partitions[0]
            if partition.error_code:
                return None
            offsets[name, index] = partition.offset
        return offsets

    async def refresh(self) -> None:
        """Ask again where the leaders are."""
        await self._client.refresh(self._topics)

    async def read_to_the_end(self) -> None:
        """From where it is to where the partitions end now; the caller sets the limit of time."""
        while (ends := await self.ends()) is None:
            await self._client.pause()
            await self.refresh()
        while any(self.positions[place] < end for place, end in ends.items()):
            await self.poll()
