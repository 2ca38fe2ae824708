"""A member of a share group over a bare socket. It counts what it acquired, and decodes records on request.

One broker: it coordinates the group and leads every partition.
"""

import asyncio
import struct
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from benches.rig.frames import call, frame
from tidelog.base.errors import ErrorCode
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import read_response
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.wire.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
)
from tidelog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

GROUP_RESOURCE = 32
HEARTBEAT_SECONDS = 2.0
ASSIGNED_SECONDS_MAX = 60
FETCH_VERSION = 1  # what every client knows; 2 adds the strict limit of records
STRICT_VERSION, STRICT = 2, 1
LATER = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
}

Address = tuple[str, int]


class Held(NamedTuple):
    """Records of one partition that were acquired."""

    partition: int
    records: Any
    ranges: Sequence[tuple[int, int]]

    @property
    def count(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)


class Line:
    """One connection: a question, then its answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, address: Address) -> "Line":
        return cls(*await asyncio.open_connection(*address, limit=1 << 24))

    async def ask(self, key: ApiKey, version: int, request: Any) -> Any:
        self._writer.write(frame(key, version, request))
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        return read_response(key, version, await self._reader.readexactly(size))[1]

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


def prepare_group(address: Address, group: str, **settings: object) -> None:
    """From the beginning of each topic, and with these settings of the group."""
    configs = {"share.auto.offset.reset": "earliest"} | {
        name.replace("_", "."): str(value) for name, value in settings.items()
    }
    resource = AlterConfigsResource(
        resource_type=GROUP_RESOURCE,
        resource_name=group,
        configs=[
            AlterableConfig(name=name, config_operation=0, value=text) for name, text in configs.items()
        ],
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    answer = call(address, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request).responses[0]
    if answer.error_code:
        raise RuntimeError(f"the settings of group {group}: {answer.error_message}")
    # The first client that looks for a coordinator has the topic of its state created.
    call(address, ApiKey.FIND_COORDINATOR, 4, FindCoordinatorRequest(coordinator_keys=[group]))


class Member:
    """`member = await Member.join(...)`; then `hold` and `done`, or `fetch` with both."""

    def __init__(self, group: str, topic_id: bytes, line: Line, coordination: Line) -> None:
        self._group, self._topic_id = group, topic_id
        self._line, self._coordination = line, coordination
        self._id = str(uuid.uuid4())
        self._epoch, self._session_epoch = 0, 0
        self._partitions: list[int] = []
        self._heartbeats: asyncio.Task[None] | None = None

    @classmethod
    async def join(cls, address: Address, group: str, topic: str) -> "Member":
        line, coordination = await Line.open(address), await Line.open(address)
        metadata = await line.ask(
            ApiKey.METADATA, 12, MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        )
        member = cls(group, metadata.topics[0].topic_id, line, coordination)
        async with asyncio.timeout(ASSIGNED_SECONDS_MAX):
            await member._heartbeat([topic])
            while not member._partitions:
                await asyncio.sleep(0.05)
                await member._heartbeat()
        member._heartbeats = asyncio.create_task(member._stay())
        return member

    async def fetch(
        self, done: Sequence[Held] = (), *, records_max: int, wait_ms: int = 500, strict: bool = False
    ) -> list[Held]:
        """Accept what is done, and take more. In strict mode each record is acknowledged by itself."""
        acks: dict[int, list[AcknowledgementBatch]] = {}
        for held in done:
            acks.setdefault(held.partition, []).extend(
                AcknowledgementBatch(
                    first_offset=first,
                    last_offset=last,
                    acknowledge_types=[1] * (last - first + 1 if strict else 1),
                )
                for first, last in held.ranges
            )
        named = acks if self._session_epoch else {index: [] for index in self._partitions}
        partitions = [
            FetchPartition(partition_index=index, acknowledgement_batches=some)
            for index, some in named.items()
        ]
        request = ShareFetchRequest(
            group_id=self._group,
            member_id=self._id,
            share_session_epoch=self._session_epoch,
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=50 << 20,
            max_records=records_max,
            batch_size=records_max,
            share_acquire_mode=STRICT if strict else 0,
            topics=[FetchTopic(topic_id=self._topic_id, partitions=partitions)] if partitions else [],
        )
        version = STRICT_VERSION if strict else FETCH_VERSION
        answer = await self._line.ask(ApiKey.SHARE_FETCH, version, request)
        if answer.error_code:
            raise RuntimeError(f"ShareFetch: error {answer.error_code} {answer.error_message}")
        self._session_epoch += 1
        return [self._held(part) for topic in answer.responses for part in topic.partitions if part.records]

    async def leave(self) -> None:
        if self._heartbeats is not None:
            self._heartbeats.cancel()
        self._session_epoch = -1
        await self.fetch(records_max=1, wait_ms=0)
        self._epoch = -1
        await self._heartbeat()
        await self._line.close()
        await self._coordination.close()

    @staticmethod
    def _held(part: Any) -> Held:
        if part.error_code or part.acknowledge_error_code:
            raise RuntimeError(f"ShareFetch: errors {part.error_code} and {part.acknowledge_error_code}")
        ranges = [(each.first_offset, each.last_offset) for each in part.acquired_records]
        return Held(part.partition_index, part.records, ranges)

    async def _heartbeat(self, topics: list[str] | None = None) -> None:
        request = ShareGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self._id,
            member_epoch=self._epoch,
            subscribed_topic_names=topics,
        )
        answer = await self._coordination.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, request)
        while answer.error_code in LATER:
            await asyncio.sleep(0.1)
            answer = await self._coordination.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, request)
        if answer.error_code:
            raise RuntimeError(f"ShareGroupHeartbeat: error {answer.error_code} {answer.error_message}")
        self._epoch = answer.member_epoch
        if answer.assignment is not None:
            self._partitions = [
                part for each in answer.assignment.topic_partitions for part in each.partitions
            ]

    async def _stay(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            await self._heartbeat()
