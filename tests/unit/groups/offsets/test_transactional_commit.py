"""Offsets committed within transactions: pending until the marker, whatever happens in between."""

import pytest

from tidelog.base.errors import ErrorCode as E
from tidelog.coordination.decision import TransactionWriter
from tidelog.groups.offsets.messages import (
    CommitPartition,
    CommitRequest,
    CommitTopic,
    DeleteTopic,
    FetchGroup,
    FetchTopic,
)
from tidelog.groups.offsets.transactional_commit import TransactionalCommit
from tidelog.groups.shard import GroupShard

DAY = 24 * 3600


class Producer:
    """Writes offsets in its transactions, and remembers all that the log holds, to replay it."""

    def __init__(self, rig, producer_id=9):
        self.rig, self.id = rig, producer_id

    def commit(self, partition=0, offset=50, *, group="g", topic="orders", **member):
        topics = (CommitTopic(topic, (CommitPartition(partition, offset),)),)
        request = TransactionalCommit(CommitRequest(group, topics, **member), self.id, 0)
        outcome = self.rig.shard.commit_in_transaction(request, self.rig.now, self.rig.now_ms)
        [answer] = self.rig.run(outcome).answer[0].partitions
        if answer.error is E.NONE:
            assert outcome.writer == TransactionWriter(self.id, 0)
        return answer.error

    def end(self, commit):
        self.rig.shard.end_transaction(self.id, commit)


@pytest.fixture
def producer(rig):
    return Producer(rig)


def stable(rig, partition=0, group="g", topic="orders"):
    request = FetchGroup(group, (FetchTopic(topic, (partition,)),))
    [found] = rig.shard.fetch(request, require_stable=True).topics[0].partitions
    return found.error or found.committed_offset


def test_they_count_once_the_transaction_is_committed(rig, producer):
    rig.commit(offset=5)
    assert producer.commit(offset=50) is E.NONE
    assert rig.committed() == 5
    assert stable(rig) is E.UNSTABLE_OFFSET_COMMIT
    assert stable(rig, partition=1) == -1
    producer.end(commit=True)
    assert rig.committed() == stable(rig) == 50


def test_they_never_counted_once_it_is_aborted(rig, producer):
    rig.commit(offset=5)
    producer.commit(offset=50)
    producer.end(commit=False)
    assert rig.committed() == stable(rig) == 5


def test_the_last_one_of_a_transaction_counts(rig, producer):
    for offset in (50, 70, 60):
        producer.commit(offset=offset)
    producer.end(commit=True)
    assert rig.committed() == 60


def test_transactions_do_not_mix(rig, producer):
    other = Producer(rig, 10)
    producer.commit(offset=50)
    other.commit(offset=90)
    producer.end(commit=True)
    assert rig.committed() == 50
    assert stable(rig) is E.UNSTABLE_OFFSET_COMMIT
    other.end(commit=False)
    assert stable(rig) == 50
    producer.end(commit=True)
    assert rig.committed() == 50, "nothing was pending any more"


def test_what_is_committed_outside_meanwhile_is_newer(rig, producer):
    producer.commit(offset=50)
    rig.commit(offset=5)
    assert stable(rig) is E.UNSTABLE_OFFSET_COMMIT
    producer.end(commit=True)
    assert rig.committed() == 5


@pytest.mark.parametrize("older_ends_first", [True, False])
def test_of_two_transactions_the_newer_record_counts(rig, producer, older_ends_first):
    """As compaction sees it, which keeps the last record of a key."""
    other = Producer(rig, 10)
    producer.commit(offset=50)
    other.commit(offset=90)
    for one in (producer, other) if older_ends_first else (other, producer):
        one.end(commit=True)
    assert rig.committed() == 90


def test_what_was_deleted_does_not_come_back(rig, producer):
    producer.commit(offset=50)
    for outcome in rig.shard.delete_topics(["orders"], rig.now, rig.now_ms):
        rig.run(outcome)
    assert stable(rig) == -1
    producer.end(commit=True)
    assert rig.committed() == -1


def test_deleting_offsets_and_groups_takes_what_is_pending(rig, producer):
    producer.commit(offset=50)
    rig.run(rig.shard.delete_offsets("g", [DeleteTopic("orders", [0])], rig.now, rig.now_ms))
    assert stable(rig) == -1
    producer.commit(offset=50, group="h")
    [deleted] = rig.run(rig.shard.delete_groups(["h"], rig.now, rig.now_ms)).answer
    assert deleted.error is E.NONE
    producer.end(commit=True)
    assert rig.committed(group="h") == -1


def test_a_group_with_something_pending_is_not_forgotten(rig, producer):
    producer.commit(offset=50, group="only-here")
    rig.pass_time(30 * DAY)
    assert "only-here" in rig.shard.groups
    producer.end(commit=False)
    rig.pass_time(30 * DAY)
    assert "only-here" not in rig.shard.durable.offsets.group_ids()


def test_a_new_coordinator_knows_what_is_pending(rig, producer):
    rig.commit(offset=5)
    producer.commit(offset=50)
    producer.commit(offset=70, group="other")
    shard = GroupShard(rig.settings, None)
    first, *rest = rig.records
    shard.replay(*first)
    for key, value in rest:
        shard.replay(key, value, producer_id=producer.id)
    assert shard.durable == rig.shard.durable
    shard.on_loaded(rig.now, rig.now_ms)
    rig.shard = rig.log.shard = shard
    assert set(shard.groups) == {"g", "other"}
    assert stable(rig) is E.UNSTABLE_OFFSET_COMMIT
    producer.end(commit=True)
    assert (rig.committed(), rig.committed(group="other")) == (50, 70)


class TestMembers:
    def test_a_member_of_the_generation_may_commit(self, rig, producer):
        generation, [member] = rig.stable(1)
        mine = {"member_id": member, "generation_id_or_member_epoch": generation}
        assert producer.commit(**mine) is E.NONE

    def test_a_zombie_may_not(self, rig, producer):
        generation, [member] = rig.stable(1)
        old = {"member_id": member, "generation_id_or_member_epoch": generation - 1}
        assert producer.commit(**old) is E.ILLEGAL_GENERATION
        stranger = {"member_id": "x", "generation_id_or_member_epoch": generation}
        assert producer.commit(**stranger) is E.UNKNOWN_MEMBER_ID
        assert stable(rig) == -1

    def test_clients_that_do_not_say_may_commit_at_any_time(self, rig, producer):
        rig.stable(1)
        assert producer.commit() is E.NONE

    def test_nobody_is_a_member_of_a_group_that_is_not_there(self, producer):
        assert (
            producer.commit(group="x", generation_id_or_member_epoch=1, member_id="m") is E.ILLEGAL_GENERATION
        )
