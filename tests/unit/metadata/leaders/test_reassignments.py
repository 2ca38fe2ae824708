from typing import ClassVar

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.metadata.brokers.brokers import decide_fence_broker, decide_unfence_broker
from tidelog.metadata.leaders.partition_changes import PartitionAlteration, decide_alter_partition
from tidelog.metadata.leaders.reassignments import (
    OngoingReassignment,
    Reassignment,
    decide_alter_reassignments,
    list_reassignments,
)
from tidelog.metadata.topics.create_partitions import TopicGrowth, decide_create_partitions


def reassign(image, *replicas, **what):
    return decide_alter_reassignments(image, [Reassignment("t", 0, replicas)], **what)


def cancel(image):
    return decide_alter_reassignments(image, [Reassignment("t", 0, None)])


def caught_up(image, *members):
    partition = image.partition("t", 0)
    leader = image.brokers[partition.leader]
    change = PartitionAlteration(
        image.topic("t").id,
        0,
        partition.leader_epoch,
        partition.partition_epoch,
        [(member, image.brokers[member].epoch) for member in members],
    )
    return decide_alter_partition(image, leader.id, leader.epoch, [change])


def lists(image):
    partition = image.partition("t", 0)
    return partition.replicas, partition.adding, partition.removing


def test_whole_way(with_topic, apply):
    image = with_topic((1, 2))
    image = apply(image, reassign(image, 3, 4))
    assert lists(image) == ((3, 4, 1, 2), (3, 4), (1, 2))
    assert list_reassignments(image) == [OngoingReassignment("t", 0, (3, 4, 1, 2), (3, 4), (1, 2))]
    image = apply(image, caught_up(image, 1, 2, 3))
    assert image.partition("t", 0).leader == 1
    image = apply(image, caught_up(image, 1, 2, 3, 4))
    assert lists(image) == ((3, 4), (), ())
    partition = image.partition("t", 0)
    assert (partition.leader, partition.isr) == (3, (3, 4))
    assert partition.directories == tuple((2000 + broker).to_bytes(16, "big") for broker in (3, 4))
    assert list_reassignments(image) == []


def test_new_order_is_done_at_once(with_topic, apply):
    image = with_topic((1, 2, 3))
    image = apply(image, reassign(image, 3, 1, 2))
    assert lists(image) == ((3, 1, 2), (), ())
    assert image.partition("t", 0).leader == 1  # until an election is asked for


def test_fewer_replicas_are_done_at_once_where_those_that_stay_are_in_sync(with_topic, apply):
    image = with_topic((1, 2, 3))
    image = apply(image, reassign(image, 2, 3))
    assert lists(image) == ((2, 3), (), ())
    assert image.partition("t", 0).leader == 2
    image = with_topic((1, 2, 3), isr=(1,))
    assert lists(apply(image, reassign(image, 1, 2))) == ((1, 2, 3), (), (3,))


def test_same_again_changes_nothing(with_topic, apply):
    image = with_topic((1, 2))
    assert not reassign(image, 1, 2).records
    image = apply(image, reassign(image, 3, 4))
    decision = reassign(image, 3, 4)
    assert (decision.records, decision.results[0].ok) == ([], True)


def test_cancel_goes_back(with_topic, apply):
    image = with_topic((1, 2))
    image = apply(image, reassign(image, 3, 4))
    image = apply(image, caught_up(image, 1, 2, 3))
    image = apply(image, cancel(image))
    assert lists(image) == ((1, 2), (), ())
    assert image.partition("t", 0).isr == (1, 2)
    assert cancel(image).results[0].error == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_cancel_after_a_change_of_plan_goes_back_to_the_beginning(with_topic, apply):
    image = with_topic((1, 2))
    image = apply(image, reassign(image, 3, 1))
    image = apply(image, reassign(image, 4, 1))
    assert lists(image) == ((4, 1, 3, 2), (4, 3), (3, 2))
    assert set(lists(apply(image, cancel(image)))[0]) == {1, 2}
    assert lists(apply(image, caught_up(image, 1, 2, 4))) == ((4, 1), (), ())


@pytest.mark.parametrize(("unclean", "survivors"), [(False, None), (True, (1,)), (True, ())])
def test_cancel_that_would_lose_records(with_topic, apply, unclean, survivors):
    """Only a new replica is in sync. Going back is unclean, and needs somebody to go back to."""
    image = with_topic((1, 2), unclean=unclean)
    image = apply(image, reassign(image, 3, 4))
    image = apply(image, caught_up(image, 1, 2, 3))
    for broker in (1, 2):
        image = apply(image, decide_fence_broker(image, broker))
    assert image.partition("t", 0).isr == (3,)
    for broker in survivors or ():
        image = apply(image, decide_unfence_broker(image, broker, broker))
    decision = cancel(image)
    if survivors:
        partition = apply(image, decision).partition("t", 0)
        assert (partition.leader, partition.isr, partition.replicas) == (1, (1,), (1, 2))
    else:
        assert decision.results[0].error == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert "would require an unclean leader election" in decision.results[0].message


def test_dead_target_only_delays(with_topic, apply):
    image = with_topic((1, 2))
    image = apply(image, reassign(image, 1, 3))
    image = apply(image, caught_up(image, 1, 2))
    image = apply(image, decide_fence_broker(image, 3))
    assert lists(image) == ((1, 3, 2), (3,), (2,))
    image = apply(image, decide_unfence_broker(image, 3, 3))
    image = apply(image, caught_up(image, 1, 2, 3))
    assert lists(image) == ((1, 3), (), ())


@pytest.mark.parametrize(
    ("item", "error"),
    [
        (Reassignment("no", 0, (1,)), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (Reassignment("t", 5, (1,)), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (Reassignment("t", 0, ()), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (Reassignment("t", 0, (1, 1)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (Reassignment("t", 0, (1, 9)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (Reassignment("t", 0, None), ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
    ],
)
def test_refusals_do_not_stop_the_others(with_topic, item, error):
    wanted = [item, Reassignment("t", 1, (2, 1)), Reassignment("t", 1, (1,))]
    decision = decide_alter_reassignments(with_topic((1, 2), (1, 2)), wanted)
    assert [result.error for result in decision.results] == [error, ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert len(decision.records) == 1


def test_replication_factor_can_be_held(with_topic, apply):
    image = with_topic((1, 2))
    decision = reassign(image, 1, 2, 3, allow_replication_factor_change=False)
    assert decision.results[0].error == ErrorCode.INVALID_REPLICATION_FACTOR
    assert decision.results[0].message == "The replication factor is changed from 2 to 3"
    image = apply(image, reassign(image, 3, 4, allow_replication_factor_change=False))
    assert reassign(image, 1, 3, allow_replication_factor_change=False).results[0].ok


def test_listing_leaves_out_what_does_not_move_or_exist(with_topic, apply):
    image = with_topic((1, 2), (1, 2))
    image = apply(image, reassign(image, 3, 4))
    assert [one.partition for one in list_reassignments(image, [("t", [0, 1, 7]), ("no", [0])])] == [0]
    assert list_reassignments(image, [("t", [1])]) == []


def test_topic_grows_by_the_replication_factor_it_is_heading_for(with_topic, apply):
    image = with_topic((1, 2))
    image = apply(image, reassign(image, 3, 4))
    image = apply(image, decide_create_partitions(image, [TopicGrowth("t", 2)]))
    assert len(image.partition("t", 1).replicas) == 2


class TestMachines:
    MACHINES: ClassVar = {1: "a", 2: "a", 3: "b"}

    def test_two_replicas_on_one_machine_are_refused(self, with_topic):
        image = with_topic((1, 3), machines=self.MACHINES)
        [result] = reassign(image, 1, 2).results
        assert result.error == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert "brokers 1 and 2, which share machine a" in result.message

    def test_a_replica_moves_from_core_to_core(self, with_topic, apply):
        image = with_topic((1, 3), machines=self.MACHINES)
        image = apply(image, reassign(image, 2, 3))
        assert lists(image) == ((2, 3, 1), (2,), (1,))
        image = apply(image, caught_up(image, 1, 2, 3))
        assert lists(image) == ((2, 3), (), ())

    def test_replicas_that_share_a_machine_already_may_stay(self, with_topic):
        image = with_topic((1, 2), machines=self.MACHINES)
        [result] = reassign(image, 2, 1).results
        assert result.error == ErrorCode.NONE

    def test_a_move_from_core_to_core_is_no_way_to_have_both(self, with_topic, apply):
        image = with_topic((1, 3), machines=self.MACHINES)
        image = apply(image, reassign(image, 2, 3))
        [result] = reassign(image, 2, 1).results
        assert result.error == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert reassign(image, 1, 3).results[0].ok, "back to where it was"
