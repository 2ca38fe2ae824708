"""Streams instances that join, lag, crash and come back, while topics change and coordinators fail.

No task is ever active on two of them, and no process has a task in two roles. When the faults end, every
task is active somewhere and has its standbys, and a new coordinator reads from the log what the old one knew.
"""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.group_coordinator import Coordinator
from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.group_config import GroupConfigs
from tidelog.base.errors import ErrorCode
from tidelog.groups.record_formats.streams_group import new_topology
from tidelog.groups.record_formats.tasks import Duty, Role
from tidelog.groups.settings import GroupSettings
from tidelog.groups.streams.group import StreamsGroup
from tidelog.groups.streams.messages import HeartbeatRequest
from tidelog.wire.messages.streams_group_heartbeat import Subtopology, TopicInfo

SESSION_S = 45.0
MEMBERS = 5
TOPICS = {"lines": 3, "words": 3, "counts": 3, "other": 2}
TOPOLOGY = new_topology(
    0,
    [
        Subtopology(subtopology_id="0", source_topics=["lines"], repartition_sink_topics=["words"]),
        Subtopology(
            subtopology_id="1",
            repartition_source_topics=[TopicInfo("words")],
            state_changelog_topics=[TopicInfo("counts")],
        ),
        Subtopology(subtopology_id="2", source_topics=["other"]),
    ],
)


class World(Coordinator):
    def __init__(self, delay_ms):
        config = BrokerConfig(
            {
                "group.streams.num.standby.replicas": 1,
                "group.streams.initial.rebalance.delay.ms": delay_ms,
                "group.streams.assignment.interval.ms": 0,
            }
        )
        super().__init__(GroupSettings(of_groups=GroupConfigs(config)), TOPICS)
        self.clients = [Client(self, number) for number in range(MEMBERS)]

    def grow(self, partitions):
        for name in TOPICS:
            self.resize(name, partitions)

    def converge(self, rounds):
        """No more faults: everybody in time, until all have their share."""
        for _ in range(rounds):
            for client in self.clients:
                client.beat()
                self.check()
                client.act()
                self.check()
            self.pass_time(5)
        assert self.shard.streams_describe("g").group_state == "Stable"
        active = Counter(task for client in self.clients for task in client.active())
        wanted = {("0", "lines"), ("1", "words"), ("2", "other")}
        assert set(active) == {
            (part, number) for part, name in wanted for number in range(self.topics[name].partitions)
        }
        standbys = [task for client in self.clients for task in client.active(Role.STANDBY)]
        assert sorted(standbys) == [("1", number) for number in range(self.topics["words"].partitions)]

    def check(self):
        active = Counter(task for client in self.clients for task in client.active())
        assert not active or max(active.values()) == 1, f"active twice: {active.most_common(1)}"
        on_disk = Counter(
            (client.process, part, number) for client in self.clients for _, part, number in client.using
        )
        assert not on_disk or max(on_disk.values()) == 1, f"in two roles: {on_disk.most_common(1)}"
        group = self.shard.groups.get("g")
        if isinstance(group, StreamsGroup):
            held = {
                (duty, number): None
                for holding in group.holdings.values()
                for part in (holding.assigned, holding.revoking)
                for duty, numbers in part.items()
                for number in numbers
            }
            assert held.keys() == group.owners.keys()


class Client:
    """Follows the protocol, as slowly as the test wants. `using` is what it works on: role, part, number."""

    def __init__(self, world, number):
        self.world, self.number, self.lives = world, number, 0
        self.id, self.process = f"member-{number}", f"process-{number // 2}"
        self.reset()

    def reset(self):
        self.epoch, self.using, self.told, self.full = 0, set(), None, True
        self.is_in, self.heard, self.told_at = False, self.world.now, 0.0

    def active(self, wanted=Role.ACTIVE):
        return [(part, number) for role, part, number in self.using if role is wanted]

    def mind_the_time(self):
        if self.is_in and self.world.now - self.heard >= SESSION_S:
            self.reset()  # it must believe that it was removed
        elif self.told is not None and self.world.now - self.told_at >= SESSION_S:
            self.act()

    def beat(self, *, says_owned=True, lost=False):
        joins, fields = self.epoch == 0, {}
        if says_owned or joins or self.full:
            tasks = {}
            for role, part, number in self.using:
                tasks.setdefault((role, part), set()).add(number)
            fields["tasks"] = {Duty(*key): frozenset(numbers) for key, numbers in tasks.items()}
        if joins:
            fields |= {"topology": TOPOLOGY, "rebalance_timeout_ms": 60_000, "process_id": self.process}
            fields["client_tags"] = ()
        world = self.world
        answer = world.run(
            world.shard.streams_heartbeat(HeartbeatRequest("g", self.id, self.epoch, **fields), world.now, 0)
        )
        if lost or answer.error is ErrorCode.COORDINATOR_NOT_AVAILABLE:
            self.full = True
            return
        if answer.error is not ErrorCode.NONE:
            assert answer.error in (
                ErrorCode.UNKNOWN_MEMBER_ID,
                ErrorCode.FENCED_MEMBER_EPOCH,
                ErrorCode.GROUP_ID_NOT_FOUND,
            )
            self.reset()
            return
        if joins and not self.is_in:
            self.using = set()
        self.is_in, self.heard, self.full, self.epoch = True, world.now, False, answer.member_epoch
        if answer.tasks is not None:
            self.told, self.told_at = answer.tasks, world.now

    def act(self):
        """Let go, then take."""
        if self.told is not None:
            self.using = {
                (of.role, of.subtopology_id, n) for of, numbers in self.told.items() for n in numbers
            }
            self.told = None

    def crash(self):
        self.reset()
        self.lives += 1
        self.id = f"member-{self.number}-{self.lives}"

    def leave(self):
        if self.is_in:
            self.using = set()
            request = HeartbeatRequest("g", self.id, -1)
            self.world.run(self.world.shard.streams_heartbeat(request, self.world.now, 0))
            self.crash()


ACTIONS = {
    "beat": lambda world, client, arg: client.beat(says_owned=arg % 3 > 0),
    "beat lost": lambda world, client, arg: client.beat(lost=True),
    "act": lambda world, client, arg: client.act(),
    "beat and act": lambda world, client, arg: (client.beat(), client.act()),
    "crash": lambda world, client, arg: client.crash(),
    "leave": lambda world, client, arg: client.leave(),
    "time": lambda world, client, arg: world.pass_time(arg * 2.5),
    "topic": lambda world, client, arg: world.resize(list(TOPICS)[arg % 4], 3 if arg < 4 else 0),
    "grow": lambda world, client, arg: world.grow(arg + 1),
    "fail over": lambda world, client, arg: world.fail_over(),
    "fail": lambda world, client, arg: world.fail_once(),
}
ACTION = st.tuples(
    st.sampled_from(["beat and act"] * 6 + ["beat", "act"] * 3 + list(ACTIONS)),
    st.integers(0, MEMBERS - 1),
    st.integers(0, 8),
)


@settings(max_examples=120)
@given(st.lists(ACTION, min_size=1, max_size=70), st.sampled_from([0, 3000]))
def test_no_task_is_active_twice_and_all_is_well_in_the_end(actions, delay_ms):
    world = World(delay_ms)
    for name, number, arg in actions:
        ACTIONS[name](world, world.clients[number], arg)
        world.check()
    world.log.refuse(None)
    world.grow(max(3, *(info.partitions for info in world.topics.values())))
    world.converge(rounds=30)
    world.grow(12)
    world.converge(rounds=12)
    world.fail_over()
