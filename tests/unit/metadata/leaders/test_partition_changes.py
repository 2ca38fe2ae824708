import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.image.records import BrokerChanged
from tidelog.metadata.leaders.partition_changes import PartitionAlteration, decide_alter_partition

TOPIC = (1).to_bytes(16, "big")


def wanted(*isr, partition=0, leader_epoch=5, partition_epoch=7, **what):
    members = [member if isinstance(member, tuple) else (member, member) for member in isr]
    return PartitionAlteration(
        what.pop("topic_id", TOPIC), partition, leader_epoch, partition_epoch, members, **what
    )


def alter(image, *changes, broker=1, epoch=None):
    return decide_alter_partition(image, broker, broker if epoch is None else epoch, changes)


def test_in_sync_set_shrinks_and_grows(with_topic, apply):
    image = with_topic((1, 2, 3))
    decision = alter(image, wanted(1, 3))
    [result] = decision.results
    assert (result.leader, result.leader_epoch, result.isr, result.partition_epoch) == (1, 5, (1, 3), 8)
    image = apply(image, decision)
    [result] = alter(image, wanted(1, 2, 3, partition_epoch=8)).results
    assert (result.isr, result.partition_epoch, result.leader_epoch) == ((1, 2, 3), 9, 5)


def test_what_is_so_already_is_answered_without_a_record(with_topic):
    decision = alter(with_topic((1, 2)), wanted(1, 2))
    assert not decision.records
    assert (decision.results[0].ok, decision.results[0].partition_epoch) == (True, 7)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (wanted(1, topic_id=bytes(16)), ErrorCode.UNKNOWN_TOPIC_ID),
        (wanted(1, partition=4), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (wanted(1, leader_epoch=6), ErrorCode.NOT_CONTROLLER),
        (wanted(1, partition_epoch=8), ErrorCode.NOT_CONTROLLER),
        (wanted(1, leader_epoch=4), ErrorCode.FENCED_LEADER_EPOCH),
        (wanted(1, partition_epoch=6), ErrorCode.INVALID_UPDATE_VERSION),
        (wanted(1, partition=1), ErrorCode.INVALID_REQUEST),  # another broker leads it
        (wanted(1, 4), ErrorCode.INVALID_REQUEST),  # no replica
        (wanted(1, 1), ErrorCode.INVALID_REQUEST),
        (wanted(2, 3), ErrorCode.INVALID_REQUEST),  # without its leader
        (wanted(), ErrorCode.INVALID_REQUEST),
        (wanted(1, leader_recovery_state=1), ErrorCode.INVALID_REQUEST),
        (wanted(1, (2, 77)), ErrorCode.INELIGIBLE_REPLICA),  # an earlier process of broker 2
        (wanted(1, (2, -1)), ErrorCode.NONE),  # the leader does not know the epoch
    ],
)
def test_leader_that_is_behind_is_refused(with_topic, change, error):
    image = with_topic((1, 2, 3), (2, 1, 3))
    decision = alter(image, change)
    assert [result.error for result in decision.results] == [error]
    assert len(decision.records) == (error == ErrorCode.NONE)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (BrokerChanged(2, 2, fenced=True), r"2 \(fenced\)"),
        (BrokerChanged(2, 2, shutting_down=True), r"2 \(shutting down\)"),
        (BrokerChanged(2, 2, directories=("AAAAAAAAAAAAAAAAAAAACQ",)), "directory is offline"),
    ],
)
def test_nobody_joins_who_could_not_be_elected(with_topic, change, reason):
    image = with_topic((1, 2), isr=(1,)).apply(change)
    [result] = alter(image, wanted(1, 2)).results
    assert result.error == ErrorCode.INELIGIBLE_REPLICA
    with pytest.raises(KafkaError, match=reason):
        raise KafkaError(result.error, result.message)


@pytest.mark.parametrize(("broker", "epoch"), [(1, 9), (7, 7)])
def test_process_that_is_not_registered_is_not_heard(with_topic, broker, epoch):
    with pytest.raises(KafkaError) as caught:
        alter(with_topic((1, 2)), wanted(1), broker=broker, epoch=epoch)
    assert caught.value.code == ErrorCode.STALE_BROKER_EPOCH


def test_one_partition_twice(with_topic):
    decision = alter(with_topic((1, 2)), wanted(1), wanted(1, 2))
    assert [result.error for result in decision.results] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]


def test_change_that_ends_a_reassignment_may_move_the_leader(with_topic, apply):
    image = with_topic((2, 3, 1), isr=(1, 2), adding=(2, 3), removing=(1,))
    assert image.partition("t", 0).leader == 2
    decision = alter(image, wanted(1, 2, 3), broker=2)
    assert decision.results[0].isr == (2, 3)
    image = with_topic((1, 2, 3), isr=(1, 2), adding=(2, 3), removing=(1,))
    decision = alter(image, wanted(1, 2, 3))
    assert [result.error for result in decision.results] == [ErrorCode.NEW_LEADER_ELECTED]
    partition = apply(image, decision).partition("t", 0)
    assert (partition.leader, partition.replicas, partition.isr) == (2, (2, 3), (2, 3))
