"""Members of a group of the new kind, on the shard of the room's rig."""

from typing import Any

import pytest

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.group_config import GroupConfigs
from tidelog.base.errors import ErrorCode
from tidelog.groups.consumer.messages import HeartbeatRequest
from tidelog.groups.consumer.topics import TopicInfo

AT_ONCE = {"group.consumer.assignment.interval.ms": 0}


def topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b"\x00")


class Consumer:
    """A client that does what it is told: lets go first, then takes, and says so with its next heartbeat."""

    def __init__(self, club: "Club", member_id: str, **join: Any) -> None:
        self.club, self.id, self.epoch, self.owned = club, member_id, 0, {}
        self.join_options = {"subscribed_topic_names": ("t",), "rebalance_timeout_ms": 60_000} | join
        self.instance_id = join.get("instance_id")

    def join(self, **changes: Any):
        return self.beat(0, topic_partitions=(), **(self.join_options | changes))

    def beat(self, epoch: int | None = None, **fields: Any):
        """A heartbeat that says nothing but that the member lives, and whatever is given."""
        epoch = self.epoch if epoch is None else epoch
        fields.setdefault("instance_id", self.instance_id)
        answer = self.club.send(HeartbeatRequest("g", self.id, epoch, **fields))
        if answer.error is ErrorCode.NONE:
            self.id, self.epoch = answer.member_id, answer.member_epoch
            if answer.assignment is not None:
                self.owned = dict(answer.assignment)
        return answer

    def follow(self):
        """A heartbeat that says what the member owns."""
        return self.beat(topic_partitions=tuple((one, tuple(numbers)) for one, numbers in self.owned.items()))

    def leave(self, epoch: int = -1):
        return self.beat(epoch)

    @property
    def partitions(self) -> list[str]:
        return sorted(
            f"{self.club.names[topic]}{number}" for topic, numbers in self.owned.items() for number in numbers
        )


class Club:
    def __init__(self, rig: Any, **topics: int) -> None:
        self.rig = rig
        self.names: dict[bytes, str] = {}
        self.topics: dict[str, TopicInfo] = {}
        self.set_topics(**(topics or {"t": 4}))

    def set_topics(self, **topics: int) -> None:
        self.topics = {name: TopicInfo(topic_id(name), count) for name, count in topics.items()}
        self.names |= {topic_id(name): name for name in topics}
        self.rig.shard.on_topics_changed(self.topics)

    def reload(self) -> None:
        self.rig.reload()
        self.rig.shard.on_topics_changed(self.topics)

    def send(self, request: HeartbeatRequest):
        return self.rig.run(self.rig.shard.consumer_heartbeat(request, self.rig.now, self.rig.now_ms)).answer

    def consumer(self, member_id: str, **join: Any) -> Consumer:
        consumer = Consumer(self, member_id, **join)
        consumer.join()
        return consumer

    def converge(self, *consumers: Consumer) -> None:
        """Heartbeats until nothing changes any more."""
        for _ in range(6):
            for consumer in consumers:
                assert consumer.follow().error is ErrorCode.NONE

    def described(self):
        return self.rig.shard.consumer_describe("g")

    @property
    def state(self) -> str:
        return self.described().group_state

    @property
    def epochs(self) -> tuple[int, int]:
        described = self.described()
        return described.group_epoch, described.assignment_epoch


@pytest.fixture
def make_club(make_rig):
    def make(settings=None, broker=None, groups=None, **topics):
        configs = GroupConfigs(BrokerConfig(AT_ONCE | (broker or {})), groups)
        return Club(make_rig(**({"of_groups": configs} | (settings or {}))), **topics)

    return make


@pytest.fixture
def club(make_club) -> Club:
    return make_club()
