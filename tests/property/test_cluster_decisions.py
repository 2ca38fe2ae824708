"""Any run of controller decisions keeps partitions safe: the checker compares each image with the one before.

Seeded bugs at the end show that the checker can fail.
"""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.brokers.brokers import (
    decide_controlled_shutdown,
    decide_fence_broker,
    decide_register_broker,
    decide_unfence_broker,
    decide_unregister_broker,
)
from tidelog.metadata.brokers.directories import (
    DirectoryAssignment,
    decide_assign_directories,
    decide_directories_offline,
)
from tidelog.metadata.brokers.heartbeats import Heartbeat, decide_heartbeat
from tidelog.metadata.brokers.registration_rules import Ended
from tidelog.metadata.image.as_records import image_records
from tidelog.metadata.image.entities import NO_LEADER
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import ClusterCreated, decode_record, encode_record
from tidelog.metadata.leaders.election_rules import ElectionRules
from tidelog.metadata.leaders.elections import (
    ElectionKind,
    decide_elect_leaders,
    decide_missing_leaders,
    decide_preferred_leaders,
)
from tidelog.metadata.leaders.partition_changes import PartitionAlteration, decide_alter_partition
from tidelog.metadata.leaders.reassignments import (
    Reassignment,
    decide_alter_reassignments,
    list_reassignments,
)
from tidelog.metadata.topics.create_topics import NewTopic, TopicDefaults, decide_create_topics

CONFIG = BrokerConfig()
BROKERS = (1, 2, 3, 4)
TOPICS = ("safe", "bold")  # bold asks for unclean elections
LOG_DIRS = 2

brokers = st.sampled_from(BROKERS)
topics = st.sampled_from(TOPICS)
partitions = st.integers(0, 2)
replica_lists = st.lists(brokers, min_size=1, max_size=4, unique=True)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("fence"), brokers),
        st.tuples(st.just("unfence"), brokers),
        st.tuples(st.just("unfence"), brokers),
        st.tuples(st.just("restart"), brokers, st.booleans(), st.booleans()),
        st.tuples(st.just("replace_log_dir"), brokers, st.integers(0, LOG_DIRS - 1)),
        st.tuples(st.just("unmount"), brokers, st.integers(0, LOG_DIRS - 1)),
        st.tuples(st.just("fail_log_dir"), brokers, st.integers(0, LOG_DIRS - 1)),
        st.tuples(st.just("assign"), brokers, topics, partitions, st.integers(0, LOG_DIRS - 1)),
        st.tuples(st.just("stop"), brokers),
        st.tuples(st.just("beat"), brokers, st.booleans(), st.booleans()),
        st.tuples(st.just("unregister"), brokers),
        st.tuples(st.just("isr"), topics, partitions, st.sets(brokers)),
        st.tuples(st.just("isr"), topics, partitions, st.just(set(BROKERS))),
        st.tuples(st.just("late_isr"), topics, partitions, st.sets(brokers), st.integers(-2, 1)),
        st.tuples(st.just("reassign"), topics, partitions, replica_lists),
        st.tuples(st.just("cancel"), topics, partitions),
        st.tuples(st.just("prefer"), st.integers(0, 50)),
        st.tuples(st.just("elect"), st.sampled_from(list(ElectionKind)), topics, partitions),
        st.tuples(st.just("missing")),
    ),
    min_size=5,
    max_size=40,
)


class Cluster:
    """The controller, and the disks that it cannot see."""

    def __init__(self):
        self.image = advance(ClusterImage(), [ClusterCreated("c")]).after
        self.records = [ClusterCreated("c")]
        self.numbers = iter(range(1_000, 10**6))
        self.log_dirs = {id: [self.new_id() for _ in range(LOG_DIRS)] for id in BROKERS}
        self.unmounted = dict.fromkeys(BROKERS)
        for id in BROKERS:
            self.restart(id, True, False)
        self.change(
            decide_create_topics(
                self.image,
                [
                    NewTopic("safe", 3, 3),
                    NewTopic("bold", 3, 2, configs=[("unclean.leader.election.enable", "true")]),
                ],
                defaults=TopicDefaults(),
                new_id=self.new_id,
            )
        )

    def new_id(self):
        return next(self.numbers).to_bytes(16, "big")

    def change(self, decision, *, may_be_unclean=(), may_join=False):
        before = self.image
        delta = advance(before, decision.records)
        self.image = delta.after
        self.records += decision.records
        check(before, self.image, may_be_unclean, may_join)
        return decision.results

    def step(self, what, *how):
        try:
            getattr(self, what)(*how)
        except KafkaError as error:
            if error.code not in {ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED}:
                raise

    def fence(self, id):
        self.change(decide_fence_broker(self.image, id, CONFIG))

    def unfence(self, id):
        known = self.image.brokers.get(id)
        self.change(decide_unfence_broker(self.image, id, known.epoch if known else 0, CONFIG))

    def restart(self, id, was_clean, fenced=True):
        decision = decide_register_broker(
            self.image,
            broker_id=id,
            epoch=len(self.records) + 1,
            incarnation=self.new_id(),
            endpoints=[],
            directories=[one for one in self.log_dirs[id] if one != self.unmounted[id]],
            fenced=fenced,
            ended=Ended.CLEAN if was_clean else Ended.UNCLEAN,
            config=CONFIG,
        )
        self.change(decision)

    def replace_log_dir(self, id, which):
        """A disk is swapped for an empty one while the broker is down, and all of them can be read."""
        gone, self.unmounted[id] = self.log_dirs[id][which], None
        lost = {
            (topic.name, partition.index)
            for topic, partition in self.image.partitions()
            if id in partition.replicas and partition.directory_of(id) in (gone, bytes(16))
        }
        self.log_dirs[id][which] = self.new_id()
        self.restart(id, True)
        for topic, partition in self.image.partitions():
            assert (topic.name, partition.index) not in lost or id not in partition.isr

    def unmount(self, id, which):
        """One log dir cannot be read at a start. What it holds is away, and nobody leads with less."""
        self.unmounted[id] = away = self.log_dirs[id][which]
        before = self.image
        self.restart(id, True, which == 0)
        for topic, partition in self.image.partitions():
            if partition.directory_of(id) == away:
                assert partition.leader != id
                if before.partition(topic.name, partition.index).isr == (id,) and topic.name == "safe":
                    assert partition.isr == (id,)

    def fail_log_dir(self, id, which):
        known = self.image.brokers.get(id)
        epoch = known.epoch if known else 0
        self.change(decide_directories_offline(self.image, id, epoch, [self.log_dirs[id][which]], CONFIG))

    def assign(self, id, topic, index, which):
        known = self.image.brokers.get(id)
        item = DirectoryAssignment(self.log_dirs[id][which], self.image.topic(topic).id, index)
        self.change(decide_assign_directories(self.image, id, known.epoch if known else 0, [item], CONFIG))

    def stop(self, id):
        self.change(decide_controlled_shutdown(self.image, id, CONFIG))

    def beat(self, id, wants_shutdown, others_know):
        known = self.image.brokers.get(id)
        beat = Heartbeat(id, known.epoch if known else 0, 10**6, wants_shutdown=wants_shutdown)
        [answer] = self.change(decide_heartbeat(self.image, beat, others_know=others_know, config=CONFIG))
        assert answer.is_fenced == self.image.brokers[id].fenced

    def unregister(self, id):
        self.change(decide_unregister_broker(self.image, id, CONFIG))

    def isr(self, topic, index, members):
        """What a leader would ask for that knows all: it never offers a broker that cannot join."""
        partition = self.image.partition(topic, index)
        leader = self.image.brokers.get(partition.leader)
        if leader is None:
            return
        members = [
            id
            for id in partition.replicas
            if id == leader.id
            or (id in members and id in self.image.brokers and self.image.brokers[id].is_active)
        ]
        before = partition.partition_epoch
        [result] = self.alter(leader, topic, partition, members, 0)
        if result.ok:
            assert result.partition_epoch == self.image.partition(topic, index).partition_epoch >= before
            assert result.isr == self.image.partition(topic, index).isr
        else:
            assert result.error in {ErrorCode.NEW_LEADER_ELECTED, ErrorCode.INELIGIBLE_REPLICA}

    def late_isr(self, topic, index, members, epochs):
        partition = self.image.partition(topic, index)
        for id in BROKERS:
            if id in self.image.brokers:
                self.alter(self.image.brokers[id], topic, partition, sorted(members), epochs)

    def alter(self, leader, topic, partition, members, epochs):
        known = self.image.brokers
        wanted = PartitionAlteration(
            self.image.topic(topic).id,
            partition.index,
            partition.leader_epoch + epochs,
            partition.partition_epoch + epochs,
            [(id, known[id].epoch if id in known else -1) for id in members],
        )
        decision = decide_alter_partition(self.image, leader.id, leader.epoch, [wanted], CONFIG)
        return self.change(decision, may_join=True)

    def reassign(self, topic, index, replicas):
        wanted = [Reassignment(topic, index, replicas)]
        self.change(decide_alter_reassignments(self.image, wanted, config=CONFIG))

    def cancel(self, topic, index):
        wanted = [Reassignment(topic, index, None)]
        before = self.image.partition(topic, index)
        [result] = self.change(decide_alter_reassignments(self.image, wanted, config=CONFIG))
        if result.ok:
            after = self.image.partition(topic, index)
            assert not after.is_reassigning
            assert set(after.replicas) == set(before.replicas) - set(before.adding)

    def prefer(self, percent):
        self.change(decide_preferred_leaders(self.image, percent))

    def elect(self, kind, topic, index):
        decision = decide_elect_leaders(self.image, kind, [(topic, index)], CONFIG)
        unclean = [topic] if kind is ElectionKind.UNCLEAN else []
        [result] = self.change(decision, may_be_unclean=unclean)
        assert result.ok == bool(decision.records)

    def missing(self):
        self.change(decide_missing_leaders(self.image, CONFIG))

    def heal(self):
        """Everybody comes back and catches up; leaders ask for what they should."""
        for id in BROKERS:
            self.unmounted[id] = None
            self.restart(id, True)
            self.unfence(id)
        for topic in TOPICS:
            for partition in self.image.topic(topic).partitions:
                if partition.leader == NO_LEADER:
                    self.step("elect", ElectionKind.UNCLEAN, topic, partition.index)
                for _ in range(3):  # the change that ends a reassignment may hand over to another leader
                    self.isr(topic, partition.index, set(BROKERS))


def check(before, after, may_be_unclean=(), may_join=False):
    """What one decision may never do to any partition."""
    for topic, new in after.partitions():
        where = topic.name, new.index
        assert set(new.isr) <= set(new.replicas), where
        assert set(new.adding) | set(new.removing) <= set(new.replicas), where
        assert len(set(new.replicas)) == len(new.replicas) > 0, where
        if new.leader != NO_LEADER:
            assert new.leader in new.isr, where
            assert not after.brokers[new.leader].fenced, where
        for id in new.isr:
            # Only the last of a set may be away: it is kept for what it holds.
            assert len(new.isr) == 1 or (id in after.brokers and not after.brokers[id].fenced), where
        old_topic = before.topics.get(topic.name)
        if old_topic is not None:
            old = old_topic.partitions[new.index]
            check_change(old_topic, old, new, after, may_be_unclean=may_be_unclean, may_join=may_join)


def check_change(topic, old, new, after, *, may_be_unclean=(), may_join=False):
    if new == old:
        return
    where = topic.name, new.index, old, new
    assert new.partition_epoch == old.partition_epoch + 1, where
    assert new.leader_epoch - old.leader_epoch in (0, 1), where
    if new.leader != old.leader or not set(old.replicas) <= set(new.replicas):
        assert new.leader_epoch > old.leader_epoch, where
    joined = set(new.isr) - set(old.isr)
    if joined and topic.name != "bold" and topic.name not in may_be_unclean:
        # Only a leader lets replicas into its set; a clean election takes nobody from outside it.
        assert may_join, where
    if new.leader not in (old.leader, NO_LEADER):
        assert after.brokers[new.leader].is_active, where
    for id in joined:
        assert after.brokers[id].is_active, where
    if old.isr and not new.isr:
        assert new.leader == NO_LEADER, where


def run(taken):
    cluster = Cluster()
    for what, *how in taken:
        cluster.step(what, *how)
    return cluster


@settings(max_examples=150)
@given(steps)
def test_no_run_of_decisions_makes_an_unsafe_partition(taken):
    cluster = run(taken)
    stored = [decode_record(encode_record(record)) for record in cluster.records]
    assert advance(ClusterImage(), stored).after == cluster.image
    assert advance(ClusterImage(), image_records(cluster.image)).after == cluster.image


@settings(max_examples=80)
@given(steps)
def test_a_healed_cluster_has_every_leader_and_no_unfinished_reassignment(taken):
    cluster = run(taken)
    cluster.heal()
    assert not list_reassignments(cluster.image)
    for _, partition in cluster.image.partitions():
        assert set(partition.isr) == set(partition.replicas)
    cluster.prefer(0)
    assert all(partition.leader == partition.replicas[0] for _, partition in cluster.image.partitions())


@pytest.mark.parametrize("bug", ["takes_anybody", "elects_the_fenced"])
def test_the_checker_sees_a_bad_election(bug, monkeypatch):
    def elect(self, partition, candidates, election=None):
        replicas, isr, *_ = candidates
        for id in replicas:
            if id not in isr and bug == "takes_anybody" and self.may_lead(partition, id):
                return id
        return replicas[0] if bug == "elects_the_fenced" else NO_LEADER

    cluster = Cluster()
    cluster.step("isr", "safe", 0, set())
    leader = cluster.image.partition("safe", 0).leader
    monkeypatch.setattr(ElectionRules, "elect", elect)
    with pytest.raises((AssertionError, KeyError)):
        cluster.step("fence", leader)


def test_the_checker_sees_a_lost_epoch():
    before = SimpleNamespace(name="safe")
    cluster = Cluster()
    old = cluster.image.partition("safe", 0)
    cluster.step("fence", old.leader)
    new = cluster.image.partition("safe", 0)
    same_epoch = type(new)(
        new.index, new.replicas, new.isr, new.leader, old.leader_epoch, new.partition_epoch
    )
    with pytest.raises(AssertionError):
        check_change(before, old, same_epoch, cluster.image)


def test_the_checker_sees_an_empty_disk_that_passes_for_a_full_one(monkeypatch):
    cluster = Cluster()
    cluster.step("isr", "safe", 0, set())
    leader = cluster.image.partition("safe", 0).leader
    cluster.step("assign", leader, "safe", 0, 0)
    monkeypatch.setattr("tidelog.metadata.brokers.brokers.lost_its_data", lambda *_: False)
    with pytest.raises(AssertionError):
        cluster.step("replace_log_dir", leader, 0)
