"""Members of the new protocol that join, lag, crash and come back, while topics change and coordinators fail.

At no moment do two of them use one partition; when the faults end, every partition has an owner and the load
is even; and what a new coordinator reads from the log is what the old one knew.
"""

import struct
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.group_coordinator import Coordinator
from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.group_config import GroupConfigs
from tidelog.base.errors import ErrorCode
from tidelog.groups.classic.messages import JoinRequest, LeavingMember, SyncRequest
from tidelog.groups.consumer.embedded_protocol import read_assignment
from tidelog.groups.consumer.group import ConsumerGroup
from tidelog.groups.consumer.messages import HeartbeatRequest
from tidelog.groups.settings import GroupSettings

SESSION_S = 45.0
MEMBERS = 5
TOPICS = ("orders", "orders-eu", "payments")


class World(Coordinator):
    """Consumers on it."""

    def __init__(self, classic_members=0, assignment_interval_ms=0):
        config = BrokerConfig({"group.consumer.assignment.interval.ms": assignment_interval_ms})
        # A group that went back to the classic kind would need leaders that assign, too.
        settings = GroupSettings(consumer_migration_policy="upgrade", of_groups=GroupConfigs(config))
        super().__init__(settings, dict.fromkeys(TOPICS[:2], 3))
        new = MEMBERS - classic_members
        self.clients = [
            (Client if number < new else ClassicClient)(self, number) for number in range(MEMBERS)
        ]

    def converge(self, rounds):
        """No more faults: everybody in time, until all have their share."""
        for _ in range(rounds):
            for client in self.clients:
                client.beat()
                self.check()
                client.act()
                self.check()
            self.pass_time(5)
        assert self.shard.consumer_describe("g").group_state == "Stable"
        used = set().union(*(client.using for client in self.clients))
        assert used == {
            (info.topic_id, number) for info in self.topics.values() for number in range(info.partitions)
        }
        loads = [len(client.using) for client in self.clients]
        assert max(loads) - min(loads) <= 1

    def check(self):
        users = Counter(part for client in self.clients for part in client.using)
        assert not users or max(users.values()) == 1, f"used twice: {users.most_common(1)}"
        group = self.shard.groups.get("g")
        if isinstance(group, ConsumerGroup):
            held = [
                (topic, number)
                for holding in group.holdings.values()
                for part in (holding.assigned, holding.revoking)
                for topic, numbers in part.items()
                for number in numbers
            ]
            assert len(held) == len(set(held)) == len(group.owners)


class Client:
    """Follows the protocol, as slowly as the test wants. `using` is what it would read from."""

    def __init__(self, world, number):
        self.world, self.number = world, number
        self.instance_id = f"instance-{number}" if number == 0 else None
        self.id = f"member-{number}"
        self.lives = 0
        self.regex = None
        self.names = TOPICS
        self.reset()

    def reset(self):
        self.epoch, self.using, self.told, self.full = 0, set(), None, True
        self.is_in, self.heard, self.told_at = False, self.world.now, 0.0

    def mind_the_time(self):
        if self.is_in and self.world.now - self.heard >= SESSION_S:
            self.reset()  # it must believe that it was removed
        elif self.told is not None and self.world.now - self.told_at >= SESSION_S:
            self.act()

    def beat(self, *, says_owned=True, lost=False):
        joins = self.epoch == 0
        fields = {}
        if says_owned or joins or self.full:
            # What it says is what it uses from now on. The protocol has a gap where a client does otherwise:
            # says that it owns nothing yet, loses the answer that takes partitions away, and then takes them.
            self.act()
            by_topic = {}
            for topic, number in self.using:
                by_topic.setdefault(topic, []).append(number)
            fields["topic_partitions"] = tuple(by_topic.items())
        if joins or self.full:
            fields |= {"subscribed_topic_names": self.names, "rebalance_timeout_ms": 60_000}
            fields["subscribed_topic_regex"] = self.regex or ""
        request = HeartbeatRequest("g", self.id, self.epoch, instance_id=self.instance_id, **fields)
        world = self.world
        answer = world.run(world.shard.consumer_heartbeat(request, world.now, world.now_ms))
        if lost or answer.error is ErrorCode.COORDINATOR_NOT_AVAILABLE:
            self.full = True
            return
        if answer.error is not ErrorCode.NONE:
            assert answer.error in (
                ErrorCode.UNKNOWN_MEMBER_ID,
                ErrorCode.FENCED_MEMBER_EPOCH,
                ErrorCode.UNRELEASED_INSTANCE_ID,
                ErrorCode.FENCED_INSTANCE_ID,
                ErrorCode.GROUP_ID_NOT_FOUND,
            )
            self.reset()
            return
        self.is_in, self.heard, self.full, self.epoch = True, world.now, False, answer.member_epoch
        if answer.assignment is not None:
            self.told, self.told_at = answer.assignment, world.now

    def act(self):
        """Let go, then take."""
        if self.told is not None:
            self.using = {(topic, number) for topic, numbers in self.told.items() for number in numbers}
            self.told = None

    def crash(self):
        self.reset()
        self.lives += 1
        self.id = f"member-{self.number}-{self.lives}"

    def leave(self, epoch):
        if self.is_in:
            if epoch == -2 and self.instance_id is None:
                epoch = -1
            request = HeartbeatRequest("g", self.id, epoch, instance_id=self.instance_id)
            self.using = set()
            self.world.run(self.world.shard.consumer_heartbeat(request, self.world.now, self.world.now_ms))
            self.crash()

    def resubscribe(self, choice):
        self.names = (TOPICS, TOPICS[:1], TOPICS[1:])[choice % 3]
        self.regex = (None, "orders.*", ".*s")[choice // 3 % 3]
        self.full = True


class ClassicClient:
    """A consumer of the classic protocol; with an odd number a cooperative one."""

    SESSION_S = 10.0

    def __init__(self, world, number):
        self.world, self.number, self.is_cooperative = world, number, number % 2
        self.names, self.id = TOPICS, ""
        self.reset()

    def reset(self):
        self.using, self.generation, self.next = set(), -1, self.join
        self.heard = self.world.now

    def mind_the_time(self):
        if self.world.now - self.heard >= self.SESSION_S:
            self.reset()

    def beat(self, *, says_owned=True, lost=False):
        """The next request of the protocol; `says_owned` has no meaning here."""
        group = self.world.shard.groups.get("g")
        if isinstance(group, ConsumerGroup) and group.members:
            self.next(lost)

    def join(self, lost):
        if not self.is_cooperative:
            self.using = set()
        protocols = (("p", self.subscription()),)
        request = JoinRequest("g", "consumer", protocols, 10_000, 60_000, self.id)
        answer = self.world.run(self.world.shard.join(request, self.world.now, self.world.now_ms))
        if self.accept(answer.error, lost):
            self.generation, self.next = answer.generation_id, self.sync
        elif answer.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.id = answer.member_id

    def sync(self, lost):
        request = SyncRequest("g", self.id, self.generation)
        answer = self.world.run(self.world.shard.sync(request, self.world.now, self.world.now_ms))
        if self.accept(answer.error, lost):
            topics = self.world.topics
            assigned = {
                (topics[name].topic_id, number)
                for name, numbers in read_assignment(answer.assignment).items()
                for number in numbers
                if name in topics
            }
            self.next = self.join if self.using - assigned else self.heartbeat
            self.using = assigned

    def heartbeat(self, lost):
        self.accept(
            self.world.shard.heartbeat(
                "g", self.id, None, self.generation, self.world.now, now_ms=self.world.now_ms
            ),
            lost,
        )

    def accept(self, error, lost):
        if lost or error is ErrorCode.COORDINATOR_NOT_AVAILABLE:
            return False
        if error is ErrorCode.NONE:
            self.heard = self.world.now
        elif error is ErrorCode.REBALANCE_IN_PROGRESS:
            self.heard, self.next = self.world.now, self.join
        else:
            assert error in (
                ErrorCode.UNKNOWN_MEMBER_ID,
                ErrorCode.ILLEGAL_GENERATION,
                ErrorCode.MEMBER_ID_REQUIRED,
            )
            self.reset()
            self.id = "" if error is ErrorCode.UNKNOWN_MEMBER_ID else self.id
        return error is ErrorCode.NONE

    def subscription(self):
        names_by_id = {info.topic_id: name for name, info in self.world.topics.items()}
        owned = {}
        for topic, number in sorted(self.using):
            if topic in names_by_id:
                owned.setdefault(names_by_id[topic], []).append(number)
        parts = [struct.pack(">hi", 1, len(self.names))]
        parts += [struct.pack(">h", len(name)) + name.encode() for name in self.names]
        parts.append(struct.pack(">ii", -1, len(owned)))
        for name, numbers in owned.items():
            parts.append(struct.pack(">h", len(name)) + name.encode())
            parts.append(struct.pack(f">i{len(numbers)}i", len(numbers), *numbers))
        return b"".join(parts)

    def act(self):
        pass

    def crash(self):
        self.reset()
        self.id = ""

    def leave(self, _epoch):
        if self.id:
            left = [LeavingMember(self.id)]
            self.world.run(self.world.shard.leave("g", left, self.world.now, self.world.now_ms))
            self.crash()

    def resubscribe(self, choice):
        self.names = (TOPICS, TOPICS[:1], TOPICS[1:])[choice % 3]
        self.next = self.join


ACTIONS = {
    "beat": lambda world, client, arg: client.beat(says_owned=arg % 3 > 0),
    "beat lost": lambda world, client, arg: client.beat(lost=True),
    "act": lambda world, client, arg: client.act(),
    "beat and act": lambda world, client, arg: (client.beat(), client.act()),
    "crash": lambda world, client, arg: client.crash(),
    "leave": lambda world, client, arg: client.leave(-1 - arg % 2),
    "subscribe": lambda world, client, arg: client.resubscribe(arg),
    "time": lambda world, client, arg: world.pass_time(arg * 2.5),
    "topic": lambda world, client, arg: world.resize(TOPICS[arg % 3], arg // 3 * 2),
    "fail over": lambda world, client, arg: world.fail_over(),
    "fail": lambda world, client, arg: world.fail_once(),
}
ACTION = st.tuples(
    st.sampled_from(["beat and act"] * 6 + ["beat", "act"] * 3 + list(ACTIONS)),
    st.integers(0, MEMBERS - 1),
    st.integers(0, 8),
)


INTERVAL_MS = st.sampled_from([0, 1000, 6000])
"""Between two assignments."""


@settings(max_examples=120)
@given(st.lists(ACTION, min_size=1, max_size=70), INTERVAL_MS)
def test_no_partition_has_two_users_and_all_is_well_in_the_end(actions, interval_ms):
    simulate(World(assignment_interval_ms=interval_ms), actions)


@settings(max_examples=80)
@given(st.lists(ACTION, min_size=1, max_size=70), st.integers(1, 3), INTERVAL_MS)
def test_the_same_with_members_of_both_protocols(actions, classic_members, interval_ms):
    simulate(World(classic_members, interval_ms), actions)


def simulate(world, actions):
    for name, number, arg in actions:
        ACTIONS[name](world, world.clients[number], arg)
        world.check()
    world.log.refuse(None)
    for client in world.clients:
        client.resubscribe(0)
    world.converge(rounds=30)
    world.resize(TOPICS[0], 12)
    world.converge(rounds=8)
    world.fail_over()
