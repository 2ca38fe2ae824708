import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import uuid_text
from tidelog.metadata.brokers.brokers import (
    decide_fence_broker,
    decide_register_broker,
    decide_unfence_broker,
)
from tidelog.metadata.brokers.directories import (
    DirectoryAssignment,
    decide_assign_directories,
    decide_directories_offline,
    unreported_directories,
)
from tidelog.metadata.image.as_records import image_records
from tidelog.metadata.image.entities import LOST_DIRECTORY, NO_LEADER
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import BrokerRegistered

TOPIC = (1).to_bytes(16, "big")
FIRST, SECOND, UNKNOWN = ((number).to_bytes(16, "big") for number in (2001, 3001, 4001))


def two_log_dirs(image):
    """Broker 1 has another, empty log dir. The epoch of its registration is 50."""
    log_dirs = (uuid_text(FIRST), uuid_text(SECOND))
    return image.apply(BrokerRegistered(1, 50, "AAAAAAAAAAAAAAAAAAAAAQ", (), directories=log_dirs))


def assign(image, directory, partition=0, topic=TOPIC):
    return decide_assign_directories(image, 1, 50, [DirectoryAssignment(directory, topic, partition)])


def state(image, index=0):
    partition = image.partition("t", index)
    return partition.leader, partition.isr


def test_replica_moves_to_another_log_dir(with_topic, apply):
    image = two_log_dirs(with_topic((1, 2)))
    decision = assign(image, SECOND)
    after = apply(image, decision)
    assert after.partition("t", 0).directory_of(1) == SECOND
    assert state(after) == state(image)
    assert not assign(after, SECOND).records


@pytest.mark.parametrize(
    ("topic", "partition", "error"),
    [
        (bytes(16), 0, ErrorCode.UNKNOWN_TOPIC_ID),
        (TOPIC, 9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, 1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_replicas_that_are_none(with_topic, topic, partition, error):
    image = two_log_dirs(with_topic((1, 2), (2, 3)))
    decision = assign(image, SECOND, partition, topic)
    assert (decision.records, decision.results[0].error) == ([], error)


def test_log_dir_fails_and_others_lead(with_topic, apply):
    image = two_log_dirs(with_topic((1, 2), (1,), (2, 1)))
    after = apply(image, decide_directories_offline(image, 1, 50, [FIRST, UNKNOWN]))
    assert (after.brokers[1].directories, after.brokers[1].failed_directories) == ((SECOND,), (FIRST,))
    assert [state(after, index) for index in range(3)] == [(2, (2,)), (NO_LEADER, (1,)), (2, (2,))]
    assert not after.brokers[1].fenced
    assert not decide_directories_offline(after, 1, 50, [FIRST]).records
    assert advance(ClusterImage(), image_records(after)).after == after


def test_broker_without_any_log_dir_is_fenced(with_topic, apply):
    image = two_log_dirs(with_topic((1, 2)))
    after = apply(image, decide_directories_offline(image, 1, 50, [SECOND, FIRST]))
    assert after.brokers[1].fenced
    assert state(after) == (2, (2,))


def test_a_damaged_replica_leaves_the_in_sync_set_and_does_not_lead(with_topic, apply):
    image = two_log_dirs(with_topic((1, 2), (1,)))
    for index, led in ((0, (2, (2,))), (1, (NO_LEADER, (1,)))):
        image = apply(image, assign(image, LOST_DIRECTORY, index))
        assert state(image, index) == led
    assert image.partition("t", 1).replicas_outside(frozenset((1, 2, 3))) == [1]
    assert not image.brokers[1].fenced
    repaired = apply(image, assign(image, FIRST, 1))
    assert state(repaired, 1) == (1, (1,))  # it has all that was ever acknowledged
    assert repaired.partition("t", 1).replicas_outside(frozenset((1, 2, 3))) == []


def test_a_damaged_replica_is_not_taken_for_one_that_began_anew(with_topic, apply):
    """Its broker starts again, with the same log dirs: it is still the last in-sync replica."""
    image = two_log_dirs(with_topic((1, 2)))
    image = apply(image, decide_fence_broker(image, 2))
    image = apply(image, assign(image, LOST_DIRECTORY))
    again = decide_register_broker(
        image,
        broker_id=1,
        epoch=60,
        incarnation=bytes(15) + b"9",
        endpoints=(),
        directories=(FIRST, SECOND),
        fenced=True,
    )
    image = apply(image, again)
    assert state(image) == (NO_LEADER, (1,))
    assert image.partition("t", 0).directory_of(1) == LOST_DIRECTORY
    image = apply(image, decide_unfence_broker(image, 1, 60))
    assert state(image) == (NO_LEADER, (1,))


def test_replica_begun_anew_after_its_log_dir_failed_is_not_in_sync(with_topic, apply):
    """It was the last one. Its new log is empty, so it must not lead, whatever its set says."""
    image = two_log_dirs(with_topic((1,)))
    image = apply(image, decide_directories_offline(image, 1, 50, [FIRST]))
    image = apply(image, assign(image, SECOND))
    assert state(image) == (NO_LEADER, ())


def test_replica_put_into_a_log_dir_that_failed_meanwhile(with_topic, apply):
    image = two_log_dirs(with_topic((1, 2), (1,), unclean=True))
    for index, after in ((0, (2, (2,))), (1, (NO_LEADER, (1,)))):
        assert state(apply(image, assign(image, UNKNOWN, index)), index) == after


def test_only_the_registered_process_is_heard(with_topic):
    image = with_topic((1, 2))
    for decide in (
        lambda: decide_assign_directories(image, 1, 50, []),
        lambda: decide_directories_offline(image, 1, 50, [FIRST]),
    ):
        with pytest.raises(KafkaError) as caught:
            decide()
        assert caught.value.code == ErrorCode.STALE_BROKER_EPOCH


def test_one_partition_twice(with_topic):
    image = two_log_dirs(with_topic((1, 2)))
    items = [DirectoryAssignment(log_dir, TOPIC, 0) for log_dir in (SECOND, FIRST)]
    errors = [result.error for result in decide_assign_directories(image, 1, 50, items).results]
    assert errors == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]


def test_what_the_cluster_does_not_know_yet(with_topic, apply):
    image = two_log_dirs(with_topic((1, 2), (2, 1), (2, 3)))
    replicas = [
        (TOPIC, 0, SECOND),
        (TOPIC, 1, FIRST),
        (TOPIC, 2, SECOND),
        (TOPIC, 9, SECOND),
        (UNKNOWN, 0, SECOND),
    ]
    wrong = unreported_directories(image, 1, replicas)
    assert wrong == [DirectoryAssignment(SECOND, TOPIC, 0)]
    image = apply(image, decide_assign_directories(image, 1, 50, wrong))
    assert unreported_directories(image, 1, replicas) == []
