"""Members of a share group, on the shard of the room's rig, with a persister that a test controls."""

from typing import Any

import pytest

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.group_config import GroupConfigs
from tidelog.base.errors import ErrorCode
from tidelog.groups.consumer.topics import TopicInfo
from tidelog.groups.share.messages import HeartbeatRequest, StatesToMake

AT_ONCE = {"group.share.assignment.interval.ms": 0}


def topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b"\x00")


class Worker:
    """A client that takes what it is given."""

    def __init__(self, crew: "Crew", member_id: str, **join: Any) -> None:
        self.crew, self.id, self.epoch = crew, member_id, 0
        self.assigned: dict[bytes, frozenset[int]] = {}
        self.join_options = {"subscribed_topic_names": ("t",)} | join

    def join(self, **changes: Any):
        return self.beat(0, **(self.join_options | changes))

    def beat(self, epoch: int | None = None, **fields: Any):
        answer = self.crew.send(
            HeartbeatRequest("g", self.id, self.epoch if epoch is None else epoch, **fields)
        )
        if answer.error is ErrorCode.NONE:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.assigned = dict(answer.assignment)
        return answer

    def leave(self):
        return self.beat(-1)

    @property
    def partitions(self) -> list[str]:
        return sorted(
            f"{self.crew.names[topic]}{number}"
            for topic, numbers in self.assigned.items()
            for number in numbers
        )


class Crew:
    def __init__(self, rig: Any, **topics: int) -> None:
        self.rig = rig
        self.makes = True
        """Whether the persister makes state at once."""
        self.to_make: list[StatesToMake] = []
        """What it was asked for and did not make."""
        self.names: dict[bytes, str] = {}
        self.set_topics(**(topics or {"t": 4}))

    def set_topics(self, **topics: int) -> None:
        self.topics = {name: TopicInfo(topic_id(name), count) for name, count in topics.items()}
        self.names |= {topic_id(name): name for name in topics}
        self.rig.shard.on_topics_changed(self.topics)

    def reload(self) -> None:
        self.rig.reload()
        self.rig.shard.on_topics_changed(self.topics)

    def send(self, request: HeartbeatRequest):
        answer = self.rig.run(self.rig.shard.share_heartbeat(request, *self.now)).answer
        if answer.to_make is not None:
            self.to_make.append(answer.to_make)
            if self.makes:
                self.make()
        return answer

    def make(self, error: ErrorCode = ErrorCode.NONE) -> None:
        """The persister answers."""
        for asked in self.to_make:
            made, failed = ({}, asked.partitions) if error else (asked.partitions, {})
            self.rig.run(self.rig.shard.share_states_made(asked.group_id, made, failed, *self.now))
        self.to_make.clear()

    @property
    def now(self) -> tuple[float, int]:
        return self.rig.now, self.rig.now_ms

    def worker(self, member_id: str, **join: Any) -> Worker:
        """A member that has its partitions, as far as there are any for it."""
        worker = Worker(self, member_id, **join)
        worker.join()
        worker.beat()
        return worker

    def newcomer(self, member_id: str, **join: Any) -> Worker:
        return Worker(self, member_id, **join)

    def described(self):
        return self.rig.shard.share_describe("g")

    @property
    def states(self):
        return self.rig.shard.durable.share_groups["g"].states

    @property
    def epochs(self) -> tuple[int, int]:
        described = self.described()
        return described.group_epoch, described.assignment_epoch


@pytest.fixture
def make_crew(make_rig):
    def make(broker=None, groups=None, topics=None, **settings):
        configs = GroupConfigs(BrokerConfig(AT_ONCE | (broker or {})), groups)
        return Crew(make_rig(of_groups=configs, **settings), **(topics or {}))

    return make


@pytest.fixture
def crew(make_crew) -> Crew:
    return make_crew()
