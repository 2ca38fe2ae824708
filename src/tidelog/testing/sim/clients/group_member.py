"""A member of a consumer group: joins, reads what it is given, commits it, and starts over on trouble."""

import asyncio
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.testing.history import History, Operation
from tidelog.testing.sim.clients.client import Address, Client
from tidelog.testing.sim.clients.consumer import Place, SimConsumer
from tidelog.testing.sim.clients.group_ledger import GroupLedger
from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.wire.apis import ApiKey
from tidelog.wire.message import Message
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.heartbeat import HeartbeatRequest
from tidelog.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from tidelog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tidelog.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

FIND_COORDINATOR_VERSION, JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION = 3, 7, 5, 4
COMMIT_VERSION, OFFSET_FETCH_VERSION = 8, 7
SESSION_MS = 2_000
REBALANCE_MS = 2_000
PROTOCOL = "sim"


class StartOver(Exception):
    """The group, its coordinator or the member's place in it has changed."""


class SimGroupMember:
    commit_version = COMMIT_VERSION

    def __init__(
        self, loop: SimLoop, client: Client, history: History, topics: dict[str, int], ledger: GroupLedger
    ) -> None:
        self._loop = loop
        self._client = client
        self._history = history
        self._topics = topics
        self._ledger = ledger
        self._consumer = SimConsumer(loop, client, history, topics, wait_ms=200)
        self._coordinator: Address | None = None
        self._member_id = ""
        self._generation = -1
        self.is_stopping = False

    @property
    def complaints(self) -> list[str]:
        return self._consumer.complaints

    async def run(self) -> None:
        while not self.is_stopping:
            try:
                places = await self._join()
                await self._read(places)
            except (StartOver, OSError):
                await self._client.pause()

    # Becoming a member

    async def _join(self) -> list[Place]:
        await self._find_coordinator()
        request = JoinGroupRequest(
            group_id=self._ledger.group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self._member_id,
            protocol_type=PROTOCOL,
            protocols=[JoinGroupRequestProtocol(name="even", metadata=b"")],
        )
        joined: JoinGroupResponse = await self._ask(
            ApiKey.JOIN_GROUP, JOIN_VERSION, request, REBALANCE_MS / 1000 + 2
        )
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = joined.member_id
            raise StartOver
        self._check(joined.error_code)
        self._member_id, self._generation = joined.member_id, joined.generation_id
        sync = SyncGroupRequest(
            group_id=self._ledger.group,
            generation_id=self._generation,
            member_id=self._member_id,
            protocol_type=PROTOCOL,
            protocol_name="even",
            assignments=self._share_out(joined) if joined.leader == joined.member_id else [],
        )
        synced = await self._ask(ApiKey.SYNC_GROUP, SYNC_VERSION, sync, REBALANCE_MS / 1000 + 2)
        self._check(synced.error_code)
        places = _places(synced.assignment)
        self._ledger.assigned(self._client.name, self._generation, places)
        now = self._loop.now
        self._history.add(Operation(self._client.name, "subscribe", started=now, ended=now))
        return places

    def _share_out(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        members = sorted(member.member_id for member in joined.members)
        places = [f"{name}-{index}" for name, count in self._topics.items() for index in range(count)]
        return [
            SyncGroupRequestAssignment(
                member_id=member, assignment=",".join(places[number :: len(members)]).encode()
            )
            for number, member in enumerate(members)
        ]

    # Reading

    async def _read(self, places: list[Place]) -> None:
        self._consumer.positions = await self._committed(places)
        await self._client.refresh(list(self._topics))
        while not self.is_stopping:
            before = dict(self._consumer.positions)
            await (self._consumer.poll() if before else asyncio.sleep(0.3))
            if self._consumer.positions != before:
                await self._commit()
            await self._beat()

    async def _beat(self) -> None:
        heartbeat = HeartbeatRequest(
            group_id=self._ledger.group, generation_id=self._generation, member_id=self._member_id
        )
        answer = await self._ask(ApiKey.HEARTBEAT, HEARTBEAT_VERSION, heartbeat)
        self._check(answer.error_code)

    async def _committed(self, places: list[Place]) -> dict[Place, int]:
        topics: dict[str, OffsetFetchRequestTopic] = {}
        for name, index in places:
            topics.setdefault(
                name, OffsetFetchRequestTopic(name=name, partition_indexes=[])
            ).partition_indexes.append(index)
        promised = dict(self._ledger.committed)
        request = OffsetFetchRequest(
            group_id=self._ledger.group, topics=list(topics.values()), require_stable=True
        )
        answer = await self._ask(ApiKey.OFFSET_FETCH, OFFSET_FETCH_VERSION, request)
        self._check(answer.error_code)
        positions: dict[Place, int] = {}
        for topic in answer.topics:
            for partition in topic.partitions:
                self._check(partition.error_code)
                place = topic.name, partition.partition_index
                self._ledger.fetched(place, partition.committed_offset, promised.get(place, -1))
                positions[place] = max(0, partition.committed_offset)
        return positions

    async def _commit(self) -> None:
        topics: dict[str, OffsetCommitRequestTopic] = {}
        positions = dict(self._consumer.positions)
        for (name, index), offset in positions.items():
            topics.setdefault(name, OffsetCommitRequestTopic(name=name, partitions=[])).partitions.append(
                OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
            )
        request = OffsetCommitRequest(
            group_id=self._ledger.group,
            generation_id_or_member_epoch=self._generation,
            member_id=self._member_id,
            topics=list(topics.values()),
        )
        name, generation = self._client.name, self._generation
        lost = {place for place in positions if self._ledger.is_anothers(name, generation, place)}
        answer = await self._ask(ApiKey.OFFSET_COMMIT, self.commit_version, request)
        for topic in answer.topics:
            for partition in topic.partitions:
                self._check(partition.error_code)
                place = topic.name, partition.partition_index
                if place in lost:
                    self._ledger.commit_of_zombie(name, generation, place)
                self._ledger.commit_acknowledged(place, positions[place])

    # The coordinator

    async def _find_coordinator(self) -> None:
        if self._coordinator is not None:
            return
        request = FindCoordinatorRequest(key=self._ledger.group)
        answer = await self._client.call_any(ApiKey.FIND_COORDINATOR, FIND_COORDINATOR_VERSION, request, 3.0)
        if answer.error_code:
            raise StartOver
        self._coordinator = answer.host, answer.port

    async def _ask(self, api_key: ApiKey, version: int, request: Message, seconds: float = 2.0) -> Any:
        if self._coordinator is None:
            raise StartOver
        try:
            return await self._client.call(self._coordinator, api_key, version, request, seconds)
        except OSError:
            self._coordinator = None
            raise

    def _check(self, code: int) -> None:
        if not code:
            return
        if code in {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}:
            self._coordinator = None
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id = ""
        raise StartOver


def _places(assignment: bytes) -> list[Place]:
    places: list[Place] = []
    for text in assignment.decode().split(","):
        name, _, index = text.rpartition("-")
        if name:
            places.append((name, int(index)))
    return places
