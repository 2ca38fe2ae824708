"""A client of the guarded topic: it goes on writing and reading, whether it may or not, and looks at what it
gets."""

import asyncio

from tidelog.base.errors import ErrorCode
from tidelog.security.acls.vocabulary import Operation
from tidelog.testing.sim.clients.client import Address, Client
from tidelog.testing.sim.clients.fetched import batches
from tidelog.testing.sim.clients.permissions import GUARDED, PermissionLedger, Revocation, Sight
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

PRODUCE_VERSION = 9
FETCH_VERSION = 12
FETCH_WAIT_MS = 400
ACKS_LEADER = 1


class GuardedClient:
    def __init__(self, client: Client, ledger: PermissionLedger, written: dict[str, list[Sight]]) -> None:
        """`written` is shared by all: for each record, the readers that were forbidden to read it when it was
        sent, as its leader knew."""
        self._client = client
        self._ledger = ledger
        self._written = written
        self._count = 0
        self._offset = 0
        self.complaints: list[str] = []
        self.is_stopping = False
        self.readers: list[str] = []
        """Their hosts, to look at when a record is sent."""

    @property
    def host(self) -> str:
        return self._client.name

    async def run(self) -> None:
        reading = asyncio.ensure_future(self._repeat_reads())
        try:
            while not self.is_stopping:
                await asyncio.sleep(self._client.chance.uniform(0.05, 0.3))
                await self._write()
        finally:
            reading.cancel()

    async def _repeat_reads(self) -> None:
        while not self.is_stopping:
            await self._client.pause()
            await self._read()

    async def _leader(self) -> Address | None:
        where = await self._client.leader_of(GUARDED, 0)
        return None if where is None else where[0]

    async def _write(self) -> None:
        address = await self._leader()
        if address is None:
            return
        self._count += 1
        value = f"{self.host}-{self._count}"
        looks = (self._ledger.look(Revocation(host, Operation.READ), address[0]) for host in self.readers)
        self._written[value] = [sight for sight in looks if sight is not None]
        before = self._ledger.look(Revocation(self.host, Operation.WRITE), address[0])
        data = write_batch([Record(0, 1_700_000_000_000, None, value.encode(), [])])
        part = PartitionProduceData(index=0, records=memoryview(data))
        topic = TopicProduceData(name=GUARDED, partition_data=[part])
        request = ProduceRequest(acks=ACKS_LEADER, timeout_ms=1_000, topic_data=[topic])
        try:
            answer = await self._client.call(address, ApiKey.PRODUCE, PRODUCE_VERSION, request, 1.5)
        except OSError:
            return await self._client.refresh([GUARDED])
        code = answer.responses[0].partition_responses[0].error_code
        if code == ErrorCode.NONE:
            self._ledger.used(before, address[0], f"write {value}")
        elif code != ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            await self._client.refresh([GUARDED])

    async def _read(self) -> None:
        address = await self._leader()
        if address is None:
            return
        revocation = Revocation(self.host, Operation.READ)
        before = self._ledger.look(revocation, address[0])
        part = FetchPartition(partition=0, fetch_offset=self._offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=FETCH_WAIT_MS, min_bytes=1, topics=[FetchTopic(topic=GUARDED, partitions=[part])]
        )
        try:
            answer: FetchResponse = await self._client.call(
                address, ApiKey.FETCH, FETCH_VERSION, request, FETCH_WAIT_MS / 1000 + 1.5
            )
        except OSError:
            return await self._client.refresh([GUARDED])
        for data in (data for topic in answer.responses for data in topic.partitions):
            if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                self._offset = 0  # acks=1: a record may be lost with its leader
            elif data.error_code == ErrorCode.NONE:
                for batch in batches(data, committed_only=False):
                    self._offset = max(self._offset, batch.end)
                    for record in batch.records:
                        self._check(bytes(record.value or b"").decode(), before, address[0])
            elif data.error_code != ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                await self._client.refresh([GUARDED])
        return None

    def _check(self, value: str, before: Sight | None, broker_host: str) -> None:
        self._ledger.used(before, broker_host, f"read {value}")
        for sight in self._written.get(value, ()):
            if sight.revocation.host == self.host:  # a fetch that was waiting when the permission ended
                self._ledger.used(sight, broker_host, f"read {value}, which was sent later")
