"""Members of a share group that join, crash and come back, while topics change and coordinators fail.

No member ever has a partition without share state. When the faults end, every partition has a member and
every member a partition, and a new coordinator reads from the log what the old one knew.
"""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.property.group_coordinator import Coordinator
from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.group_config import GroupConfigs
from tidelog.base.errors import ErrorCode
from tidelog.groups.settings import GroupSettings
from tidelog.groups.share.messages import HeartbeatRequest

MEMBERS = 4
TOPICS = {"jobs": 3, "mails": 1}
SUBSCRIPTIONS = [("jobs",), ("mails",), ("jobs", "mails")]


class World(Coordinator):
    def __init__(self):
        config = BrokerConfig({"group.share.assignment.interval.ms": 0})
        super().__init__(GroupSettings(of_groups=GroupConfigs(config)), TOPICS)
        self.asked = []
        self.stored = set()
        """The partitions that the persister has state of."""
        self.clients = [Client(self, number) for number in range(MEMBERS)]

    def persist(self, *, fails=False):
        """The persister answers everything that it was asked for; a failure may come after the deed."""
        asked, self.asked = self.asked, []
        for one in asked:
            places = {(topic, number) for topic, numbers in one.partitions.items() for number in numbers}
            self.stored |= places
            made, failed = ({}, one.partitions) if fails else (one.partitions, {})
            self.run(self.shard.share_states_made("g", made, failed, self.now, 0))

    def fail_over(self):
        self.asked.clear()  # what the old coordinator asked for, it does not learn
        super().fail_over()

    def delete_topic(self, name):
        gone = self.topics.pop(name, None)
        if gone is not None:
            self.shard.on_topics_changed(dict(self.topics))
            self.log.write_all(self.shard.drop_share_topics({gone.topic_id}, self.now, 0))

    def check(self):
        group = self.shard.durable.share_groups.get("g")
        if group is None:
            return
        made = {(topic, n) for topic, one in group.states.initialized.items() for n in one.partitions}
        assert made <= self.stored
        existing = {info.topic_id for info in self.topics.values()}
        for holding in group.holdings.values():
            held = {(topic, n) for topic, numbers in holding.assigned.items() for n in numbers}
            assert {place for place in held if place[0] in existing} <= made


class Client:
    def __init__(self, world, number):
        self.world, self.id, self.epoch = world, f"m{number}", 0
        self.topics = SUBSCRIPTIONS[number % len(SUBSCRIPTIONS)]
        self.assigned = {}

    def mind_the_time(self):
        pass

    def beat(self, epoch=None):
        epoch = self.epoch if epoch is None else epoch
        names = self.topics if epoch == 0 else None
        request = HeartbeatRequest("g", self.id, epoch, subscribed_topic_names=names)
        answer = self.world.run(self.world.shard.share_heartbeat(request, self.world.now, 0))
        if answer.error is ErrorCode.NONE:
            self.epoch = max(answer.member_epoch, 0)
            if answer.assignment is not None:
                self.assigned = dict(answer.assignment)
            if answer.to_make is not None:
                self.world.asked.append(answer.to_make)
        elif answer.error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
            self.epoch, self.assigned = 0, {}

    def read(self, topics):
        """Other topics from now on: its heartbeats name them until one is answered."""
        self.topics, self.epoch = topics, 0
        self.beat()

    def leave(self):
        if self.epoch:
            self.beat(-1)
        self.epoch, self.assigned = 0, {}

    def crash(self):
        self.epoch, self.assigned = 0, {}


EVENTS = st.one_of(
    st.tuples(st.just("beat"), st.integers(0, MEMBERS - 1)),
    st.tuples(st.just("leave"), st.integers(0, MEMBERS - 1)),
    st.tuples(st.just("crash"), st.integers(0, MEMBERS - 1)),
    st.tuples(st.just("read"), st.integers(0, MEMBERS - 1), st.sampled_from(SUBSCRIPTIONS)),
    st.tuples(st.just("pass"), st.sampled_from([1.0, 20.0, 31.0, 50.0])),
    st.tuples(st.just("grow"), st.sampled_from(["jobs", "mails"]), st.integers(1, 5)),
    st.tuples(st.just("delete"), st.sampled_from(["jobs", "mails"])),
    st.tuples(st.sampled_from(["persist", "persister fails", "append fails", "fail over"])),
)


@settings(deadline=None)
@given(st.lists(EVENTS, max_size=40))
@example([("beat", 0), ("delete", "jobs"), ("append fails",), ("read", 0, ("mails",))])
def test_share_groups(events):
    world = World()
    for event in events:
        match event:
            case ("beat", number):
                world.clients[number].beat()
            case ("leave", number):
                world.clients[number].leave()
            case ("crash", number):
                world.clients[number].crash()
            case ("read", number, topics):
                world.clients[number].read(topics)
            case ("pass", seconds):
                world.pass_time(seconds)
            case ("grow", name, count):
                known = world.topics.get(name)
                if known is None or known.partitions < count:
                    world.resize(name, count)
            case ("delete", name):
                world.delete_topic(name)
            case ("persist",):
                world.persist()
            case ("persister fails",):
                world.persist(fails=True)
            case ("append fails",):
                world.fail_once()
            case _:
                world.fail_over()
        world.check()
    world.log.refuse(None)
    world.pass_time(31.0)  # state that was asked for and never answered is asked for again
    for _ in range(4):
        for client in world.clients:
            client.beat()
        world.persist()
    read = {name for client in world.clients for name in client.topics} & world.topics.keys()
    wanted = {
        (world.topics[name].topic_id, number)
        for name in read
        for number in range(world.topics[name].partitions)
    }
    has = [{(topic, n) for topic, numbers in c.assigned.items() for n in numbers} for c in world.clients]
    assert set().union(*has) == wanted
    for client, mine in zip(world.clients, has, strict=True):
        assert bool(mine) == any(name in world.topics for name in client.topics)
    world.fail_over()
