"""A member of a streams group: sends its topology, runs the tasks it is given, and commits what it read.

Its one subtopology keeps state, so the brokers have to create a changelog before there are tasks.
"""

from tidelog.base.errors import ErrorCode
from tidelog.testing.history import History, Operation
from tidelog.testing.sim.clients.client import Client
from tidelog.testing.sim.clients.consumer import Place
from tidelog.testing.sim.clients.group_ledger import GroupLedger
from tidelog.testing.sim.clients.group_member import SimGroupMember, StartOver
from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)

PART = "0"
REBALANCE_MS = 2_000
REJOINS = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)


class SimStreamsMember(SimGroupMember):
    commit_version = 9  # the first with member epochs

    def __init__(
        self,
        loop: SimLoop,
        client: Client,
        history: History,
        topics: dict[str, int],
        ledger: GroupLedger,
        *,
        replicas: int,
    ) -> None:
        super().__init__(loop, client, history, topics, ledger)
        self._replicas = replicas
        self._member_id = client.name
        self._generation = 0
        self._tasks: list[int] = []
        self._standbys: list[int] = []

    async def _join(self) -> list[Place]:
        """Or go on with the epoch it has, where only an answer was lost."""
        await self._find_coordinator()
        await self._heartbeat(tells_tasks=True)
        now = self._loop.now
        self._history.add(Operation(self._client.name, "subscribe", started=now, ended=now))
        return self._places()

    async def _beat(self) -> None:
        before = self._places()
        await self._heartbeat(tells_tasks=self._client.chance.random() < 0.7)
        after = self._places()
        if after != before:
            kept = {place: at for place, at in self._consumer.positions.items() if place in after}
            self._consumer.positions = kept
            added = [place for place in after if place not in kept]
            self._consumer.positions = kept | (await self._committed(added) if added else {})

    async def _heartbeat(self, *, tells_tasks: bool) -> None:
        joins = self._generation == 0
        request = StreamsGroupHeartbeatRequest(
            group_id=self._ledger.group, member_id=self._member_id, member_epoch=self._generation
        )
        if tells_tasks or joins:
            request.active_tasks = _ids(self._tasks)
            request.standby_tasks = _ids(self._standbys)
            request.warmup_tasks = []
        if joins:
            request.rebalance_timeout_ms = REBALANCE_MS
            request.process_id = self._member_id
            request.client_tags = []
            request.topology = self._topology()
        answer: StreamsGroupHeartbeatResponse = await self._ask(
            ApiKey.STREAMS_GROUP_HEARTBEAT, 0, request, 8.0
        )
        if answer.error_code in REJOINS:
            self._generation, self._tasks, self._standbys = 0, [], []
        self._check(answer.error_code)
        self._generation = answer.member_epoch
        if answer.active_tasks is not None:
            self._tasks = _numbers(answer.active_tasks)
            self._standbys = _numbers(answer.standby_tasks or [])
            self._ledger.assigned(self._client.name, self._generation, self._places())

    def _check(self, code: int) -> None:
        try:
            super()._check(code)
        except StartOver:
            self._member_id = self._client.name  # it chose that itself
            raise

    def _topology(self) -> Topology:
        changelog = TopicInfo(name=f"{self._ledger.group}-changelog", replication_factor=self._replicas)
        part = Subtopology(
            subtopology_id=PART, source_topics=list(self._topics), state_changelog_topics=[changelog]
        )
        return Topology(epoch=0, subtopologies=[part])

    def _places(self) -> list[Place]:
        return [
            (name, number) for name, count in self._topics.items() for number in self._tasks if number < count
        ]


def _ids(numbers: list[int]) -> list[TaskIds]:
    return [TaskIds(subtopology_id=PART, partitions=numbers)] if numbers else []


def _numbers(tasks: list[TaskIds]) -> list[int]:
    return [number for of in tasks for number in of.partitions]
