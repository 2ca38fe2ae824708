"""Eligible leader replicas under any run of decisions: who may lead cleanly has all that was acknowledged.

The checker knows what the controller cannot see: how much of the log each replica holds.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import KafkaError
from tidelog.metadata.brokers import brokers as brokers_module
from tidelog.metadata.brokers.brokers import (
    decide_controlled_shutdown,
    decide_fence_broker,
    decide_register_broker,
    decide_unfence_broker,
)
from tidelog.metadata.brokers.features import decide_default_features
from tidelog.metadata.brokers.registration_rules import Ended
from tidelog.metadata.configs.alter_configs import ConfigAlteration, decide_incremental_alter_configs
from tidelog.metadata.configs.edits import ConfigEdit
from tidelog.metadata.image.as_records import image_records
from tidelog.metadata.image.entities import CLUSTER_DEFAULT, NO_LEADER
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import ClusterCreated, decode_record, encode_record
from tidelog.metadata.leaders import eligible, partition_edit
from tidelog.metadata.leaders.elections import ElectionKind, decide_elect_leaders, decide_missing_leaders
from tidelog.metadata.leaders.partition_changes import PartitionAlteration, decide_alter_partition
from tidelog.metadata.leaders.reassignments import Reassignment, decide_alter_reassignments
from tidelog.metadata.topics.create_topics import NewTopic, TopicDefaults, decide_create_topics

BROKERS = (1, 2, 3, 4)
brokers = st.sampled_from(BROKERS)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("write")),
        st.tuples(st.just("write")),
        st.tuples(st.just("fence"), brokers),
        st.tuples(st.just("fence"), brokers),
        st.tuples(st.just("unfence"), brokers),
        st.tuples(st.just("unfence"), brokers),
        st.tuples(st.just("restart"), brokers, st.sampled_from(list(Ended)), st.booleans()),
        st.tuples(st.just("stop"), brokers),
        st.tuples(st.just("isr"), st.sets(brokers)),
        st.tuples(st.just("isr"), st.just(set(BROKERS))),
        st.tuples(st.just("minimum"), st.booleans(), st.integers(1, 4)),
        st.tuples(st.just("reassign"), st.lists(brokers, min_size=1, max_size=4, unique=True)),
        st.tuples(st.just("elect_unclean")),
        st.tuples(st.just("missing")),
    ),
    min_size=5,
    max_size=40,
)


class Cluster:
    def __init__(self):
        self.image = advance(ClusterImage(), [ClusterCreated("c")]).after
        self.records = [ClusterCreated("c")]
        self.static = BrokerConfig({"min.insync.replicas": 2})
        self.log_dirs = {id: (1000 + id).to_bytes(16, "big") for id in BROKERS}
        self.numbers = iter(range(2000, 10**6))
        self.acked = 0
        self.ends = dict.fromkeys(BROKERS, 0)
        self.change(decide_default_features(self.image, self.static))
        for id in BROKERS:
            self.register(id, Ended.CLEAN, fenced=False)
        topics = [NewTopic("t", assignments=[(0, (1, 2, 3))])]
        self.change(decide_create_topics(self.image, topics, defaults=TopicDefaults(), new_id=self.new_id))

    @property
    def config(self):
        return self.static.with_dynamic(self.image.configs(CLUSTER_DEFAULT), {})

    @property
    def partition(self):
        return self.image.partition("t", 0)

    @property
    def needed(self):
        own = self.image.topic("t").configs.get("min.insync.replicas")
        return min(int(own or self.config.int("min.insync.replicas")), len(self.partition.replicas))

    def new_id(self):
        return next(self.numbers).to_bytes(16, "big")

    def change(self, decision, *, bad=(), unclean=False, joins=False):
        before = self.image
        self.image = advance(before, decision.records).after
        self.records += decision.records
        if before.topic("t") is not None:
            self.check(before.partition("t", 0), self.partition, bad, unclean, joins)

    def check(self, old, new, bad, unclean, joins):
        if joins:
            for id in set(new.isr) - set(old.isr):
                self.ends[id] = self.acked
        trusted = (set(old.isr) | set(old.elr)) - set(bad)
        is_new = new.leader != NO_LEADER and new.leader_epoch != old.leader_epoch
        if is_new and new.leader not in trusted and not joins:
            # Unclean: asked for, or the last leader where nobody is left who could be trusted.
            assert unclean or not trusted, (old, new)
            self.acked = self.ends[new.leader]
            self.ends = {id: min(end, self.acked) for id, end in self.ends.items()}
            assert (new.isr, new.elr) == ((new.leader,), ()), (old, new)
        for id in (*new.isr, *new.elr):
            assert self.ends[id] >= self.acked, (
                f"{id} may lead without all that was acknowledged: {old} {new}"
            )
        assert len(new.isr) < self.needed or not new.elr, (old, new)
        for id in new.isr:
            assert not self.image.brokers[id].fenced, (old, new)
        assert (new.last_known_elr == ()) or new.leader == NO_LEADER, (old, new)

    def step(self, what, *how):
        try:
            getattr(self, what)(*how)
        except KafkaError:
            pass  # refused, and nothing has changed

    def write(self):
        """With acks=all."""
        if self.partition.leader != NO_LEADER and len(self.partition.isr) >= self.needed:
            self.acked += 1
            for id in self.partition.isr:
                self.ends[id] = self.acked

    def fence(self, id):
        self.change(decide_fence_broker(self.image, id, self.config))

    def unfence(self, id):
        epoch = self.image.brokers[id].epoch
        self.change(decide_unfence_broker(self.image, id, epoch, self.config))

    def stop(self, id):
        self.change(decide_controlled_shutdown(self.image, id, self.config))

    def restart(self, id, ended, has_new_disk):
        bad = ()
        if has_new_disk:
            self.log_dirs[id] = self.new_id()
        if has_new_disk or ended is Ended.UNCLEAN:
            self.ends[id] = 0
            bad = (id,)
        self.register(id, ended, bad=bad)

    def register(self, id, ended, *, fenced=True, bad=()):
        decision = decide_register_broker(
            self.image,
            broker_id=id,
            epoch=len(self.records) + 1,
            incarnation=self.new_id(),
            endpoints=[],
            directories=[self.log_dirs[id]],
            fenced=fenced,
            ended=ended,
            config=self.config,
        )
        self.change(decision, bad=bad)

    def isr(self, wanted):
        """The leader asks for it; those who come in have caught up."""
        partition, image = self.partition, self.image
        if partition.leader == NO_LEADER:
            return
        alive = [id for id in partition.replicas if id in wanted and image.brokers[id].is_active]
        members = dict.fromkeys([partition.leader, *alive])
        asked = PartitionAlteration(
            image.topic("t").id,
            0,
            partition.leader_epoch,
            partition.partition_epoch,
            [(id, image.brokers[id].epoch) for id in members],
        )
        leader = image.brokers[partition.leader]
        self.change(decide_alter_partition(image, leader.id, leader.epoch, [asked], self.config), joins=True)

    def minimum(self, of_topic, value):
        kind, name = (2, "t") if of_topic else (4, "")
        edit = ConfigAlteration(kind, name, [ConfigEdit("min.insync.replicas", str(value))])
        self.change(decide_incremental_alter_configs(self.image, [edit], node_id=1, config=self.config))

    def reassign(self, replicas):
        wanted = Reassignment("t", 0, replicas)
        self.change(decide_alter_reassignments(self.image, [wanted], config=self.config))

    def elect_unclean(self):
        decision = decide_elect_leaders(self.image, ElectionKind.UNCLEAN, [("t", 0)], self.config)
        self.change(decision, unclean=True)

    def missing(self):
        self.change(decide_missing_leaders(self.image, self.config))


def run(taken):
    cluster = Cluster()
    for what, *how in taken:
        cluster.step(what, *how)
    return cluster


@settings(max_examples=300)
@given(steps)
def test_who_may_lead_cleanly_has_all_that_was_acknowledged(taken):
    cluster = run(taken)
    stored = [decode_record(encode_record(record)) for record in cluster.records]
    assert advance(ClusterImage(), stored).after == cluster.image
    assert advance(ClusterImage(), image_records(cluster.image)).after == cluster.image


DOWN_TO_ONE = [("write",), ("fence", 3), ("write",), ("fence", 2)]


def always_eligible(old, replicas, isr, *, needed, bad=()):
    return tuple(id for id in replicas if (id in old.isr or id in old.elr) and id not in isr)


@pytest.mark.parametrize(
    ("bug", "taken"),
    [
        ((eligible, "eligible_replicas", always_eligible), [("fence", 3), ("write",), ("unfence", 3)]),
        ((brokers_module, "may_lack_records", lambda *_: False), [("restart", 2, Ended.UNCLEAN, False)]),
        ((brokers_module, "lost_its_data", lambda *_: False), [("restart", 2, Ended.CLEAN, True)]),
    ],
    ids=["it keeps whom others have overtaken", "it trusts a crash", "it trusts an empty disk"],
)
def test_the_checker_sees_a_bug(bug, taken, monkeypatch):
    module, name, wrong = bug
    run([*DOWN_TO_ONE, *taken])
    monkeypatch.setattr(module, name, wrong)
    if module is eligible:
        monkeypatch.setattr(partition_edit, name, wrong)
    with pytest.raises(AssertionError):
        run([*DOWN_TO_ONE, *taken])
