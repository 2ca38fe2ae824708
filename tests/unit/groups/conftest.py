"""A shard with a clock and a log of its own: what a shell does, one call after the other."""

import random
import struct
from collections.abc import Callable
from typing import Any

import pytest

from tests.rigs.shard_log import ShardLog
from tidelog.base.errors import ErrorCode
from tidelog.base.pending import Pending
from tidelog.coordination.decision import ShardDecision, StateRecord
from tidelog.groups.classic.messages import JoinRequest, LeavingMember, SyncRequest
from tidelog.groups.offsets.messages import (
    CommitPartition,
    CommitRequest,
    CommitTopic,
    FetchGroup,
    FetchTopic,
)
from tidelog.groups.settings import GroupSettings
from tidelog.groups.shard import GroupShard

NOW_MS = 1_700_000_000_000
RANGE = (("range", b"meta"),)


class SeededRandom:
    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)


class Rig:
    """Appends and commits at once, unless `log.holds` or `log.refuse` say otherwise."""

    def __init__(self, settings: GroupSettings) -> None:
        self.settings = settings
        self.now = 1000.0
        self.log: ShardLog[GroupShard] = ShardLog(lambda: (self.now, self.now_ms))
        self.shard = self.log.load(GroupShard(settings, SeededRandom()))

    @property
    def now_ms(self) -> int:
        return NOW_MS + round((self.now - 1000) * 1000)

    @property
    def records(self) -> list[StateRecord]:
        return self.log.records

    def run(self, decision: ShardDecision[Any]) -> Pending[Any]:
        return self.log.write(decision)

    def commit_all(self) -> None:
        self.log.holds = False
        self.log.commit()

    def join(self, member: str = "", *, protocols=RANGE, group="g", **options: Any) -> Pending[Any]:
        options.setdefault("session_timeout_ms", 10_000)
        options.setdefault("rebalance_timeout_ms", 60_000)
        options.setdefault("client_id", "client")
        request = JoinRequest(
            group, options.pop("protocol_type", "consumer"), protocols, member_id=member, **options
        )
        return self.run(self.shard.join(request, self.now, self.now_ms))

    def new_id(self, **options: Any) -> str:
        answer = self.join(**options).answer
        assert answer.error is ErrorCode.MEMBER_ID_REQUIRED
        return answer.member_id

    def sync(self, member: str, generation: int, assignments: dict[str, bytes] | None = None, **options: Any):
        group = options.pop("group", "g")
        request = SyncRequest(
            group, member, generation, assignments=tuple((assignments or {}).items()), **options
        )
        return self.run(self.shard.sync(request, self.now, self.now_ms))

    def heartbeat(self, member: str, generation: int, instance: str | None = None, group="g") -> ErrorCode:
        return self.shard.heartbeat(group, member, instance, generation, self.now, now_ms=self.now_ms)

    def leave(self, *members: str | LeavingMember, group: str = "g"):
        leaving = [LeavingMember(one) if isinstance(one, str) else one for one in members]
        return self.run(self.shard.leave(group, leaving, self.now, self.now_ms)).answer

    def commit(self, topic="orders", partition=0, offset=5, *, group="g", metadata="", **options: Any):
        topics = (CommitTopic(topic, (CommitPartition(partition, offset, 3, metadata),)),)
        request = CommitRequest(group, topics, **options)
        pending = self.run(self.shard.commit(request, self.now, self.now_ms))
        return pending.answer[0].partitions[0].error if pending.done else None

    def committed(self, topic="orders", partition=0, group="g") -> int:
        fetched = self.shard.fetch(FetchGroup(group, (FetchTopic(topic, (partition,)),)))
        return fetched.topics[0].partitions[0].committed_offset

    def pass_time(self, seconds: float) -> None:
        """Run what is due on the way, at the time it is due."""
        end = self.now + seconds
        while (deadline := self.shard.next_deadline) is not None and deadline <= end:
            self.now = max(deadline, self.now)
            self.log.tick()
        self.now = end

    def state(self, group: str = "g") -> str:
        return self.shard.describe(group).group_state

    def members(self, group: str = "g") -> list[str]:
        return [member.member_id for member in self.shard.describe(group).members]

    def stable(self, count: int = 2, **options: Any) -> tuple[int, list[str]]:
        """A stable group of so many dynamic members, the leader first: its generation and their ids."""
        ids = [self.new_id(**options) for _ in range(count)]
        joins = [self.join(one, **options) for one in ids]
        if count > 1:
            joins[0] = self.join(ids[0], **options)  # it was alone in the first generation
        generation, leader = joins[0].answer.generation_id, joins[0].answer.leader
        ids.sort(key=lambda one: one != leader)
        self.sync(leader, generation, {one: b"for " + one.encode() for one in ids})
        for one in ids[1:]:
            assert self.sync(one, generation).answer.assignment == b"for " + one.encode()
        assert self.state() == "Stable"
        return generation, ids

    def reload(self) -> GroupShard:
        """A new coordinator on the same log."""
        replayed = GroupShard(self.settings, SeededRandom(2))
        for key, value in self.records:
            replayed.replay(key, value)
        assert replayed.durable == self.shard.durable
        self.shard = self.log.load(GroupShard(self.settings, SeededRandom(2)))
        return self.shard


@pytest.fixture
def make_rig() -> Callable[..., Rig]:
    return lambda **settings: Rig(GroupSettings(**settings))


@pytest.fixture
def subscription() -> Callable[..., tuple[tuple[str, bytes]]]:
    """What a consumer of these topics offers, as its client writes it."""

    def write(*topics: str) -> tuple[tuple[str, bytes]]:
        names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
        return (("range", struct.pack(">hi", 0, len(topics)) + names),)

    return write


@pytest.fixture
def rig(make_rig) -> Rig:
    return make_rig()
