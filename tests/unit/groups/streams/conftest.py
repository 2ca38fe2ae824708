"""Members of a streams group, on the shard of the room's rig."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.groups.streams.word_count import word_count
from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.group_config import GroupConfigs
from tidelog.base.errors import ErrorCode
from tidelog.groups.consumer.topics import TopicInfo as Topic
from tidelog.groups.record_formats.tasks import Role
from tidelog.groups.streams.messages import HeartbeatRequest

AT_ONCE = {"group.streams.initial.rebalance.delay.ms": 0, "group.streams.assignment.interval.ms": 0}
ROLES = {Role.ACTIVE: "", Role.STANDBY: "s", Role.WARMUP: "w"}


class Instance:
    """A client that does what it is told: lets go first, then takes, and says so with its next heartbeat."""

    def __init__(self, team: "Team", member_id: str, process: str, **join: Any) -> None:
        self.team, self.id, self.process, self.epoch = team, member_id, process, 0
        self.owned: dict[Any, frozenset[int]] = {}
        self.join_options = {
            "topology": word_count(),
            "rebalance_timeout_ms": 60_000,
            "process_id": process,
            "client_tags": (),
        } | join

    def join(self, **changes: Any):
        return self.beat(0, tasks={}, **(self.join_options | changes))

    def beat(self, epoch: int | None = None, **fields: Any):
        request = HeartbeatRequest("g", self.id, self.epoch if epoch is None else epoch, **fields)
        answer = self.team.send(request)
        if answer.error is ErrorCode.NONE:
            self.epoch = answer.member_epoch
            if answer.tasks is not None:
                self.owned = dict(answer.tasks)
        return answer

    def follow(self):
        """A heartbeat that says which tasks the member has."""
        return self.beat(tasks=self.owned)

    def leave(self, **fields: Any):
        return self.beat(-1, **fields)

    @property
    def tasks(self) -> list[str]:
        """`0_1` is active, `1_0s` a standby."""
        return sorted(
            f"{duty.subtopology_id}_{number}{ROLES[duty.role]}"
            for duty, numbers in self.owned.items()
            for number in numbers
        )


class Team:
    def __init__(self, rig: Any, **topics: int) -> None:
        self.rig = rig
        self.set_topics(**(topics or {"lines": 2, "words": 2, "counts": 2}))

    def set_topics(self, **topics: int) -> None:
        self.topics = {name: Topic(name.encode().ljust(16, b"\x00"), count) for name, count in topics.items()}
        self.rig.shard.on_topics_changed(self.topics)

    def reload(self) -> None:
        self.rig.reload()
        self.rig.shard.on_topics_changed(self.topics)

    def send(self, request: HeartbeatRequest):
        return self.rig.run(self.rig.shard.streams_heartbeat(request, self.rig.now, self.rig.now_ms)).answer

    def instance(self, member_id: str, process: str | None = None, **join: Any) -> Instance:
        instance = self.newcomer(member_id, process, **join)
        instance.join()
        return instance

    def newcomer(self, member_id: str, process: str | None = None, **join: Any) -> Instance:
        """One that has not joined yet."""
        return Instance(self, member_id, process or f"process of {member_id}", **join)

    def converge(self, *instances: Instance) -> None:
        """Heartbeats until nothing changes any more."""
        for _ in range(6):
            for instance in instances:
                assert instance.follow().error is ErrorCode.NONE

    def described(self):
        return self.rig.shard.streams_describe("g")

    @property
    def state(self) -> str:
        return self.described().group_state


@pytest.fixture
def make_team(make_rig) -> Callable[..., Team]:
    def make(settings: dict[str, Any] | None = None, **topics: int) -> Team:
        config = BrokerConfig(AT_ONCE | (settings or {}))
        members_max = config.int("group.streams.max.size")
        return Team(make_rig(of_groups=GroupConfigs(config), streams_members_max=members_max), **topics)

    return make


@pytest.fixture
def team(make_team) -> Team:
    return make_team()
